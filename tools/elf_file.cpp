#include "elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "os/memory.h"

namespace musubi::tools {
namespace {

#if defined(__x86_64__)
constexpr unsigned this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned this_machine = EM_AARCH64;
#else
#error "name this processor's ELF machine"
#endif

// A file mapped for reading; every access is checked against its length.
class MappedFile {
 public:
  MappedFile(void* begin, std::size_t bytes) : begin_(static_cast<const char*>(begin)), bytes_(bytes) {}
  ~MappedFile() {
    if (bytes_ != 0) ::munmap(const_cast<char*>(begin_), bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    if (offset > bytes_ || bytes_ - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, begin_ + offset, sizeof value);
    return value;
  }
  // The text up to a zero byte.
  std::optional<std::string> text(std::uint64_t offset) const {
    if (offset >= bytes_) return std::nullopt;
    const std::size_t length = ::strnlen(begin_ + offset, bytes_ - offset);
    if (length == bytes_ - offset) return std::nullopt;
    return std::string(begin_ + offset, length);
  }
  bool holds(std::string_view text) const {
    return bytes_ != 0 && ::memmem(begin_, bytes_, text.data(), text.size()) != nullptr;
  }
  bool starts_with(std::string_view prefix) const {
    return bytes_ >= prefix.size() && std::memcmp(begin_, prefix.data(), prefix.size()) == 0;
  }

 private:
  const char* begin_;
  std::size_t bytes_;
};

class DynamicTables {
 public:
  DynamicTables(const MappedFile& file, std::vector<Elf64_Phdr> segments)
      : file_(file), segments_(std::move(segments)) {}

  // False: damaged.
  bool read(ElfFile& result) {
    std::vector<std::uint64_t> needed;
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_DYNAMIC && !read_entries(segment, needed)) return false;
    }
    for (const std::uint64_t name : needed) {
      const auto text = string(name);
      if (!text) return false;
      result.needed.push_back(*text);
    }
    result.exports_malloc = exports("malloc");
    return true;
  }

 private:
  // Looks the name up as the dynamic linker does, in the table of the symbols that the file defines. A
  // damaged table contains no symbol.
  bool exports(std::string_view name) const {
    std::uint32_t hash = 5381;
    for (const char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
    const auto table = offset_of(hashes_);
    const auto header = table ? file_.read<HashHeader>(*table) : std::nullopt;
    if (!header || header->buckets == 0) return false;
    const std::uint64_t buckets = *table + sizeof *header + header->filter_words * sizeof(std::uint64_t);
    const std::uint64_t chains = buckets + header->buckets * sizeof(std::uint32_t);
    const auto first = file_.read<std::uint32_t>(buckets + hash % header->buckets * sizeof(std::uint32_t));
    if (!first || *first < header->first_symbol) return false;
    for (std::uint64_t symbol = *first;; ++symbol) {
      const auto chained =
          file_.read<std::uint32_t>(chains + (symbol - header->first_symbol) * sizeof(std::uint32_t));
      if (!chained) return false;
      if ((*chained | 1U) == (hash | 1U) && defines(symbol, name)) return true;
      if ((*chained & 1U) != 0) return false;
    }
  }
  // In a program linked to fixed addresses, the table also has the addresses of functions that libraries
  // define.
  bool defines(std::uint64_t symbol, std::string_view name) const {
    const auto table = offset_of(symbols_);
    const auto entry = table ? file_.read<Elf64_Sym>(*table + symbol * sizeof(Elf64_Sym)) : std::nullopt;
    return entry && entry->st_shndx != SHN_UNDEF && string(entry->st_name) == name;
  }

  bool read_entries(const Elf64_Phdr& segment, std::vector<std::uint64_t>& needed) {
    for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = file_.read<Elf64_Dyn>(segment.p_offset + at);
      if (!entry) return false;
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings_ = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) symbols_ = entry->d_un.d_ptr;
      if (entry->d_tag == DT_GNU_HASH) hashes_ = entry->d_un.d_ptr;
    }
    return true;
  }

  // The dynamic section holds addresses; the segments map them to file offsets.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      if (address - segment.p_vaddr < segment.p_filesz) return segment.p_offset + (address - segment.p_vaddr);
    }
    return std::nullopt;
  }

  std::optional<std::string> string(std::uint64_t index) const {
    const auto table = offset_of(strings_);
    if (!table || index > ~*table) return std::nullopt;
    return file_.text(*table + index);
  }

  struct HashHeader {
    std::uint32_t buckets, first_symbol, filter_words, filter_shift;
  };

  const MappedFile& file_;
  const std::vector<Elf64_Phdr> segments_;
  std::uint64_t strings_ = 0, symbols_ = 0, hashes_ = 0;
};

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
  result.kind = FileKind::static_program;
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = file.read<Elf64_Phdr>(header->e_phoff + i * header->e_phentsize);
    if (!segment)
      return Error{path + " is damaged: its program headers lie outside of the file; copy or link it again"};
    if (segment->p_type == PT_INTERP) result.kind = FileKind::dynamic_program;
    if (segment->p_type == PT_NOTE && result.build_id.empty()) result.build_id = build_id_in(file, *segment);
    segments.push_back(*segment);
  }
  if (!DynamicTables(file, std::move(segments)).read(result)) {
    return Error{path + " is damaged: its dynamic tables lie outside of the file; copy or link it again"};
  }
  return result;
}

}  // namespace

namespace {

// Calls `use` with the file's bytes, or returns the reason why they cannot be read.
template <class Use>
auto with_file(const std::string& path, Use use) -> decltype(use(std::declval<const MappedFile&>())) {
  const os::FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (descriptor.number() < 0 || ::fstat(descriptor.number(), &status) != 0) {
    return Error{"cannot read " + path + ": " + std::strerror(errno)};
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0) return use(MappedFile(nullptr, 0));
  void* begin = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (begin == MAP_FAILED) return Error{"cannot read " + path + ": " + std::strerror(errno)};
  return use(MappedFile(begin, bytes));
}

}  // namespace

Result<ElfFile> read_elf_file(const std::string& path) {
  return with_file(path, [&](const MappedFile& file) { return read_mapped(file, path); });
}

bool file_holds(const std::string& path, std::string_view text) {
  const auto held = with_file(path, [&](const MappedFile& file) { return Result<bool>(file.holds(text)); });
  return held.ok() && Result<bool>(held).value();
}

}  // namespace musubi::tools
