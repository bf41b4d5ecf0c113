#include <cstddef>
#include <string>
#include <vector>

#include "atomics/mapped_file.h"
#include "atomics/site.h"

namespace musubi::atomics {
namespace {

void add_symbols(std::vector<CodeRange>& functions, const MappedFile& file, Sections sections) {
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    for (const ElfW(Sym) & symbol :
         file.at<ElfW(Sym)>(section.sh_offset, section.sh_size / sizeof(ElfW(Sym)))) {
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0)
        functions.push_back({symbol.st_value, symbol.st_size});
    }
  }
}

// The search table of .eh_frame_hdr (Linux Standard Base, "Exception Frames"): pairs of four bytes, relative
// to the header. Encodings that linkers do not use are not supported.
struct TableHeader {
  std::uint8_t version, frame_encoding, count_encoding, table_encoding;
  std::int32_t frame;
  std::uint32_t count;
};
struct TableEntry {
  std::int32_t function, description;
};
constexpr std::uint8_t unsigned_of_4 = 0x03, from_header_of_4 = 0x3b, from_here_of_4 = 0x1b;
// The head of a frame description, if its addresses are from_here_of_4.
struct Description {
  std::uint32_t bytes, common;
  std::int32_t function;
  std::uint32_t function_bytes;
};

// The size of the function at `address` in bytes. 0: its description cannot be read.
std::uint64_t bytes_of(const MappedFile& file, Sections sections, std::uint64_t address,
                       std::uint64_t place) {
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type == SHT_NOBITS || place < section.sh_addr ||
        place - section.sh_addr >= section.sh_size)
      continue;
    const auto found = file.at<Description>(section.sh_offset + (place - section.sh_addr), 1);
    if (found.empty()) return 0;
    const std::uint64_t described =
        place + offsetof(Description, function) + static_cast<std::uint64_t>(std::int64_t{found[0].function});
    return described == address ? found[0].function_bytes : 0;
  }
  return 0;
}

void add_described(std::vector<CodeRange>& functions, const MappedFile& file, Sections sections,
                   std::span<const ElfW(Phdr)> segments) {
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    const auto header = file.at<TableHeader>(segment.p_offset, 1);
    if (header.empty() || header[0].version != 1 || header[0].frame_encoding != from_here_of_4 ||
        header[0].count_encoding != unsigned_of_4 || header[0].table_encoding != from_header_of_4)
      return;
    for (const TableEntry& entry :
         file.at<TableEntry>(segment.p_offset + sizeof(TableHeader), header[0].count)) {
      const std::uint64_t address =
          segment.p_vaddr + static_cast<std::uint64_t>(std::int64_t{entry.function});
      const std::uint64_t place =
          segment.p_vaddr + static_cast<std::uint64_t>(std::int64_t{entry.description});
      functions.push_back({address, bytes_of(file, sections, address, place)});
    }
  }
}

}  // namespace

std::vector<CodeRange> functions_of(const std::string& path, std::uintptr_t base) {
  std::vector<CodeRange> functions;
  const MappedFile file(path.c_str());
  const ElfW(Ehdr)* const header = file.header();
  if (header == nullptr) return functions;
  add_symbols(functions, file, file.sections());
  add_described(functions, file, file.sections(), file.at<ElfW(Phdr)>(header->e_phoff, header->e_phnum));
  for (CodeRange& function : functions) function.begin += base;
  return functions;
}

}  // namespace musubi::atomics
