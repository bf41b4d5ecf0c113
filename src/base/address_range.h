// A range of addresses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi {

struct AddressRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;

  bool contains(std::uintptr_t address) const { return address - begin < bytes; }
};

}  // namespace musubi
