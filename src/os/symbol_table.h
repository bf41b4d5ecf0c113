// The full symbol table of an object's file. No malloc.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace musubi::os {

class SymbolTable {
 public:
  // Empty if the file cannot be read or has no such table (a stripped object).
  explicit SymbolTable(const char* path) noexcept;
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  std::span<const ElfW(Sym)> symbols() const noexcept { return symbols_; }
  // Null: no name.
  const char* name(const ElfW(Sym) & symbol) const noexcept;

 private:
  template <class T>
  const T* at(std::size_t offset, std::size_t count) const noexcept;
  void find() noexcept;

  const char* data_ = nullptr;  // the file, mapped
  std::size_t bytes_ = 0;
  std::span<const ElfW(Sym)> symbols_;
  std::span<const char> names_;
};

// The file of a loaded object, from its name in the dynamic linker.
const char* file_of_object(const char* linker_name) noexcept;

// The ELF note that identifies a build.

// The build id in the notes [note, end), as bytes; empty if there is none. REQUIRES: readable.
inline std::string build_id(const char* note, const char* end) {
  constexpr std::size_t alignment = 4;  // of the parts of a note
  const auto aligned = [](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* const name = note + sizeof header;
    const char* const content = name + aligned(header.n_namesz);
    if (content + header.n_descsz > end) break;
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(name, header.n_namesz) == std::string_view("GNU", 4)) {
      return std::string(content, header.n_descsz);
    }
    note = content + aligned(header.n_descsz);
  }
  return {};
}

}  // namespace musubi::os
