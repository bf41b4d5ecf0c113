// The variables of the program and its libraries, from their symbol tables.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address_range.h"
#include "stores/loaded_code.h"

namespace musubi::stores {

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
