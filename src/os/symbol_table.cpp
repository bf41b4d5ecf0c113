#include "os/symbol_table.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace musubi::os {

SymbolTable::SymbolTable(const char* path) noexcept {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (::fstat(file, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory != MAP_FAILED) {
      data_ = static_cast<const char*>(memory);
      bytes_ = bytes;
      find();
    }
  }
  ::close(file);
}

SymbolTable::~SymbolTable() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), bytes_);
}

// `count` records of T at `offset`, or null if they are not all in the file.
template <class T>
const T* SymbolTable::at(std::size_t offset, std::size_t count) const noexcept {
  if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(data_ + offset);
}

void SymbolTable::find() noexcept {
  const auto* const header = at<ElfW(Ehdr)>(0, 1);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto* const sections = at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  if (sections == nullptr) return;
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    const std::size_t count = sections[i].sh_size / sizeof(ElfW(Sym));
    const ElfW(Shdr)& strings = sections[sections[i].sh_link];
    const auto* const symbols = at<ElfW(Sym)>(sections[i].sh_offset, count);
    const auto* const names = at<char>(strings.sh_offset, strings.sh_size);
    if (symbols == nullptr || names == nullptr) return;
    symbols_ = {symbols, count};
    names_ = {names, strings.sh_size};
    return;
  }
}

const char* SymbolTable::name(const ElfW(Sym) & symbol) const noexcept {
  return symbol.st_name < names_.size() ? names_.data() + symbol.st_name : nullptr;
}

const char* file_of_object(const char* linker_name) noexcept {
  return linker_name == nullptr || linker_name[0] == '\0' ? "/proc/self/exe" : linker_name;
}

}  // namespace musubi::os
