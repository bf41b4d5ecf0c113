#include "elf_file.h"

#include <elf.h>

#include <optional>

#include "dynamic_tables.h"
#include "mapped_file.h"

namespace musubi::tools {
namespace {

#if defined(__x86_64__)
constexpr unsigned this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned this_machine = EM_AARCH64;
#else
#error "name this processor's ELF machine"
#endif

// The build id, which the linker computes from the file's contents, in a segment of notes.
std::string build_id_in(const MappedFile& file, const Elf64_Phdr& notes) {
  std::uint64_t at = notes.p_offset;
  while (at - notes.p_offset < notes.p_filesz) {
    const auto note = file.read<Elf64_Nhdr>(at);
    if (!note) return "";
    const auto aligned = [](std::uint64_t bytes) { return (bytes + 3) & ~std::uint64_t{3}; };
    const std::uint64_t id = at + sizeof *note + aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && file.text(at + sizeof *note) == "GNU") {
      std::string text;
      for (std::uint64_t i = 0; i < note->n_descsz; ++i) {
        const auto byte = file.read<unsigned char>(id + i);
        if (!byte) return "";
        constexpr char digits[] = "0123456789abcdef";
        text += {digits[*byte >> 4], digits[*byte & 15]};
      }
      return text;
    }
    at = id + aligned(note->n_descsz);
  }
  return "";
}

FileKind kind_of(const Elf64_Ehdr& header, const std::vector<Elf64_Phdr>& segments, const ElfFile& read) {
  if (!read.interpreter.empty()) return FileKind::dynamic_program;
  bool has_tables = false;
  for (const Elf64_Phdr& segment : segments) has_tables = has_tables || segment.p_type == PT_DYNAMIC;
  const bool is_library = header.e_type == ET_DYN && has_tables && !read.is_movable_program;
  return is_library ? FileKind::library : FileKind::static_program;
}

// Empty: they lie outside of the file.
std::vector<Elf64_Phdr> segments_of(const MappedFile& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = file.read<Elf64_Phdr>(header.e_phoff + i * header.e_phentsize);
    if (!segment) return {};
    segments.push_back(*segment);
  }
  return segments;
}

Result<ElfFile> read_mapped(const MappedFile& file, const std::string& path) {
  ElfFile result;
  if (file.starts_with("#!")) result.kind = FileKind::script;
  if (!file.starts_with(ELFMAG)) return result;
  const auto header = file.read<Elf64_Ehdr>(0);
  const bool fits = header && header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == this_machine;
  if (!fits) {
    result.kind = FileKind::foreign_program;
    return result;
  }
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) return result;
  const std::vector<Elf64_Phdr> segments = segments_of(file, *header);
  if (segments.size() != header->e_phnum)
    return Error{path + " is damaged: its program headers lie outside of the file; copy or link it again"};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) {
      result.interpreter = file.text(segment.p_offset).value_or("");
      if (result.interpreter.empty())
        return Error{path +
                     " is damaged: the name of its dynamic linker lies outside of the file; copy or "
                     "link it again"};
    }
    if (segment.p_type == PT_NOTE && result.build_id.empty()) result.build_id = build_id_in(file, segment);
  }
  if (!DynamicTables(file, segments).read(result)) {
    return Error{path + " is damaged: its dynamic tables lie outside of the file; copy or link it again"};
  }
  result.kind = kind_of(*header, segments, result);
  return result;
}

std::string section_in(const MappedFile& file, std::string_view name) {
  const auto header = file.starts_with(ELFMAG) ? file.read<Elf64_Ehdr>(0) : std::nullopt;
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
    return "";
  const auto section = [&](std::uint64_t number) {
    return file.read<Elf64_Shdr>(header->e_shoff + number * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  for (std::uint64_t i = 0; names && i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one || file.text(names->sh_offset + one->sh_name) != name) continue;
    return one->sh_type == SHT_NOBITS ? "" : std::string(file.bytes(one->sh_offset, one->sh_size));
  }
  return "";
}

}  // namespace

Result<ElfFile> read_elf_file(const std::string& path) {
  return with_file(path, [&](const MappedFile& file) { return read_mapped(file, path); });
}

bool file_holds(const std::string& path, std::string_view text) {
  const auto held = with_file(path, [&](const MappedFile& file) { return Result<bool>(file.holds(text)); });
  return held.ok() && Result<bool>(held).value();
}

std::vector<std::string> not_defined_by(const std::string& path, const std::vector<std::string>& names) {
  std::vector<std::string> rest = names;
  const auto read = with_file(path, [&](const MappedFile& file) -> Result<void> {
    const auto header = file.starts_with(ELFMAG) ? file.read<Elf64_Ehdr>(0) : std::nullopt;
    if (!header) return {};
    DynamicTables tables(file, segments_of(file, *header));
    ElfFile unused;
    if (tables.read(unused))
      std::erase_if(rest, [&](const std::string& name) { return tables.exports(name); });
    return {};
  });
  return read ? rest : names;
}

std::string section_of_file(const std::string& path, std::string_view name) {
  auto read =
      with_file(path, [&](const MappedFile& file) { return Result<std::string>(section_in(file, name)); });
  return read ? std::move(read).value() : "";
}

}  // namespace musubi::tools
