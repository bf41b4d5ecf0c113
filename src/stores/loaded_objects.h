// The loaded objects of this process: their code, and their variables.
#pragma once

#include <elf.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/address_range.h"

namespace musubi::stores {

// The code of this process, as the dynamic linker lists it, and the targets of its calls between objects.
class LoadedCode {
 public:
  enum class Kind : std::uint8_t {
    program,      // and its libraries
    languages,    // of C++ and Fortran: examined like the program, except for functions known by name
    mathematics,  // writes numbers, no chars
    unknown,      // the C library, the linker, the kernel's, this library
  };
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
    Kind kind;
  };

  // Lists the objects again. Result: whether they have changed. Takes the linker's lock.
  bool refresh() noexcept;

  // The executable segment that holds `address`; null: not code.
  const Range* range_at(std::uintptr_t address) const noexcept;

  // The name of the function whose address the linker writes into the word at `slot`; null: no such word.
  const char* imported_name(std::uintptr_t slot) const noexcept;
  // The address of that function. 0: unknown. `name`: from imported_name().
  std::uintptr_t imported_address(std::uintptr_t slot, const char* name) const noexcept;

 private:
  static constexpr std::size_t ranges_max = 1024, objects_max = 1024;
  struct Object {
    std::uintptr_t begin;  // of all of its segments
    std::uintptr_t end;
    std::uintptr_t base;
    const ElfW(Dyn) * dynamic;
  };

  static int add_object(dl_phdr_info* info, std::size_t bytes, void* self) noexcept;
  void add(const dl_phdr_info& info) noexcept;
  const Object* object_at(std::uintptr_t address) const noexcept;

  std::array<Range, ranges_max> ranges_;
  std::size_t range_count_ = 0;
  std::array<Object, objects_max> objects_;
  std::size_t object_count_ = 0;
  unsigned long long loaded_ = 0, unloaded_ = 0;
  mutable const Range* last_ = nullptr;  // cached result
};

// The variables of the program and its libraries, from their symbol tables.
class DataObjects {
 public:
  // Lists the loaded objects again. Takes the linker's lock, and reads the files of the program's own
  // objects.
  void refresh(const LoadedCode& code);

  // The variable that covers the address; if the tables know none, all writable data of the loaded object.
  // Empty: not data.
  AddressRange object_at(std::uintptr_t address) const;
  // All writable data of the loaded object around the address; empty: none.
  AddressRange segment_at(std::uintptr_t address) const;

 private:
  void add_variables(const char* path, std::uintptr_t base);

  std::vector<AddressRange> segments_;
  std::vector<AddressRange> variables_;  // sorted, disjoint
};

}  // namespace musubi::stores
