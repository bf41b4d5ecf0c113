// What memory is for, as far as only the runtime knows it.
#pragma once

#include <cstdint>

#include "base/address_range.h"

namespace musubi::stores {

class Objects {
 public:
  enum class Kind : std::uint8_t {
    apart,  // no memory that ranks share
    stack,
    shared,
  };
  virtual Kind kind_of(std::uintptr_t address) const noexcept = 0;
  // The allocations that a pointer to `address`, which is shared, may be used for: that which contains it,
  // and those that may end there. More than these, where they are not known.
  virtual AddressRange allocations_at(std::uintptr_t address) const noexcept = 0;

 protected:
  ~Objects() = default;
};

}  // namespace musubi::stores
