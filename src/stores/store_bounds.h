// Bounds the stores of a region: examines its code once, before it runs (docs/decisions/races.md).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/store_bound.h"
#include "stores/data_objects.h"
#include "stores/loaded_code.h"
#include "stores/region_stores.h"

namespace musubi::stores {

class StoreBounds {
 public:
  // `objects` outlives this.
  explicit StoreBounds(const MemoryKinds& objects) : objects_(objects) {}

  // The bound for the function at `function`, which is about to be called. Reads the pointers that the code
  // will read. The first call takes some 100 ns for each instruction that the function can reach, up to a
  // fixed number of instructions. One caller at a time, outside of signal handlers.
  StoreBound of(std::uintptr_t function, const Begin& begin);

 private:
  const MemoryKinds& objects_;
  LoadedCode code_;
  DataObjects data_;
  std::unordered_map<std::uintptr_t, RegionStores> regions_;
};

}  // namespace musubi::stores
