// The purpose of memory, as far as only the runtime knows it.
#pragma once

#include <cstdint>

#include "base/address_range.h"

namespace musubi::stores {

class MemoryKinds {
 public:
  enum class Kind : std::uint8_t {
    apart,  // not shared by ranks
    stack,
    shared,
  };
  virtual Kind kind_of(std::uintptr_t address) const noexcept = 0;
  // The allocations that a pointer to the shared address `address` may refer to: the one that contains it,
  // and those that may end there. A wider range if they are not known.
  virtual AddressRange allocations_at(std::uintptr_t address) const noexcept = 0;

 protected:
  ~MemoryKinds() = default;
};

}  // namespace musubi::stores
