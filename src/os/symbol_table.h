// The full symbol table of an object's file. No malloc.
#pragma once

#include <link.h>

#include <cstddef>
#include <span>

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

}  // namespace musubi::os
