#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>

#include "atomics/mapped_file.h"
#include "atomics/site.h"

namespace musubi::atomics {
namespace {

std::vector<CodeRange> executable_segments(const dl_phdr_info& object) {
  std::vector<CodeRange> ranges;
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    ranges.push_back({object.dlpi_addr + header.p_vaddr, header.p_filesz});
  }
  return ranges;
}

bool lies_within(CodeRange inner, const std::vector<CodeRange>& outer) {
  return std::any_of(outer.begin(), outer.end(), [inner](const CodeRange& range) {
    return inner.begin >= range.begin && inner.begin - range.begin <= range.bytes &&
           inner.bytes <= range.bytes - (inner.begin - range.begin);
  });
}

// Empty if the file has no section headers, or only invalid ones.
std::vector<ElfW(Shdr)> executable_sections(const MappedFile& file) {
  const Sections all = file.sections();
  std::vector<ElfW(Shdr)> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const ElfW(Shdr) & section) {
    return section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) != 0 &&
           section.sh_size != 0 && !file.name_of(all, section).starts_with(".plt");
  });
  return found;
}

void add(Scan& all, const Scan& part) {
  all.sites.insert(all.sites.end(), part.sites.begin(), part.sites.end());
  all.padding.insert(all.padding.end(), part.padding.begin(), part.padding.end());
  all.doubtful += part.doubtful;
  all.undecided += part.undecided;
  all.instructions += part.instructions;
  all.unsupported += part.unsupported;
  all.undecodable_bytes += part.undecodable_bytes;
}

int keep_first(dl_phdr_info* info, std::size_t, void* context) {
  *static_cast<dl_phdr_info*>(context) = *info;
  return 1;
}

// Calls `visit` with the code of each executable section of the file, its address where Linux would load the
// program without randomisation, and the base of such addresses.
template <class Visit>
Result<void> for_each_section(const std::string& path, Visit visit) {
  constexpr std::uintptr_t base_of_movable_programs = 0x555555554000;
  const MappedFile file(path.c_str());
  if (!file.is_open()) return Error{"cannot read " + path + ": " + std::strerror(errno)};
  std::vector<ElfW(Shdr)> sections = executable_sections(file);
  if (sections.empty()) return Error{path + " is not a program or library with section headers"};
  std::sort(sections.begin(), sections.end(),
            [](const ElfW(Shdr) & a, const ElfW(Shdr) & b) { return a.sh_addr < b.sh_addr; });
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_size > file.bytes()) return Error{path + " is damaged: a section is larger than the file"};
    const auto code = file.at<std::uint8_t>(section.sh_offset, section.sh_size);
    if (code.empty()) return Error{path + " is damaged: a section extends beyond the end of the file"};
    const std::uintptr_t base = file.header()->e_type == ET_DYN ? base_of_movable_programs : 0;
    visit(code, base + section.sh_addr, base);
  }
  return {};
}

}  // namespace

Result<std::vector<CodeRange>> code_of_object(const dl_phdr_info& object, const std::string& path) {
  const MappedFile file(path.c_str());
  if (!file.is_open()) {
    return Error{"cannot read " + path + " to find its atomics: " + std::strerror(errno) +
                 "; make the file readable, or run without patching atomics"};
  }
  const std::vector<CodeRange> segments = executable_segments(object);
  std::vector<CodeRange> ranges;
  for (const ElfW(Shdr) & section : executable_sections(file)) {
    ranges.push_back({object.dlpi_addr + section.sh_addr, section.sh_size});
  }
  // A file that was replaced after the start does not describe the loaded code.
  std::erase_if(ranges, [&segments](CodeRange range) { return !lies_within(range, segments); });
  return ranges.empty() ? segments : ranges;
}

Result<std::vector<CodeRange>> code_of_program() {
  dl_phdr_info program{};
  ::dl_iterate_phdr(keep_first, &program);
  return code_of_object(program, "/proc/self/exe");
}

Scan find_sites(std::vector<CodeRange> ranges, const FunctionsOf& functions) {
  Scan all;
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  for (const CodeRange& range : ranges) {
    add(all, find_sites(reinterpret_cast<const void*>(range.begin), range.bytes, range.begin, functions));
  }
  return all;
}

Result<Scan> find_sites_of_file(const std::string& path) {
  Scan all;
  const auto read = for_each_section(
      path, [&](std::span<const std::uint8_t> code, std::uintptr_t address, std::uintptr_t base) {
        Scan scan = find_sites(code.data(), code.size(), address, [&] { return functions_of(path, base); });
        mark_relaxed(scan, path, base);
        add(all, scan);
      });
  if (!read) return read.error();
  return all;
}

Result<bool> file_has_spin_loops(const std::string& path) {
  bool found = false;
  const auto read = for_each_section(
      path, [&](std::span<const std::uint8_t> code, std::uintptr_t address, std::uintptr_t base) {
        const auto functions = [&] { return functions_of(path, base); };
        found = found || has_spin_loops(code.data(), code.size(), address, functions);
      });
  if (!read) return read.error();
  return found;
}

}  // namespace musubi::atomics
