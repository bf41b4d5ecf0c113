// One instruction that stores.
#pragma once

#include <cstdint>

#include "stores/value.h"

namespace musubi::stores {

struct Site {
  Value address;
  std::uint32_t bytes = 0;
  bool is_atomic = false;  // does not merge
  friend bool operator==(const Site&, const Site&) = default;
};

}  // namespace musubi::stores
