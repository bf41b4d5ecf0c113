// Turns addresses named by code, and words loaded by it, into values.
#pragma once

#include <cstdint>

#include "stores/data_objects.h"
#include "stores/roots.h"
#include "stores/value.h"

namespace musubi::stores {

class Places {
 public:
  explicit Places(const DataObjects& objects) : objects_(objects) {}

  // A number that may be the address of a variable.
  Value named(std::uintptr_t number);
  // The word loaded from `address`, which is in no frame.
  Value loaded(const Value& address);

  const Roots& roots() const { return roots_; }

 private:
  const DataObjects& objects_;
  Roots roots_;
};

}  // namespace musubi::stores
