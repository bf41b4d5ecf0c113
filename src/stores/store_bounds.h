// Bounds the stores of a region: examines its code once, before it runs (docs/decisions/races.md).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/address_range.h"
#include "base/store_bound.h"
#include "stores/loaded_objects.h"
#include "stores/roots.h"
#include "stores/value.h"

namespace musubi::stores {

// One instruction that stores.
struct Site {
  Value address;
  std::uint32_t bytes = 0;
  bool is_atomic = false;  // does not merge
  friend bool operator==(const Site&, const Site&) = default;
};

// The purpose of memory, as far as only the runtime knows it.
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

// All stores of a region's code, found before it runs.
struct RegionStores {
  static constexpr std::size_t sites_max = 256;

  bool is_known = false;  // false: any store is possible
  // The widest piece that stores of words at unknown places leave whole.
  std::uint32_t words = 8;
  // An atomic operation at an unknown place may change a pointer.
  bool changes_pointers = false;
  // Thread-local storage is on stacks, too.
  bool writes_storage = false;
  std::vector<Site> sites;  // outside of frames
  Roots roots;
};

// The arguments of a region's code.
enum class Passes : std::uint8_t {
  address,  // that of its record
  words,    // two addresses in frames of the calling thread, then the words of its record
};

// The state at the beginning of a region.
struct Begin {
  std::uintptr_t argument;  // its record, in `frames`
  AddressRange frames;      // of all functions that wait for it
};

// The bound of the stores of `region` until it ends. `data`: the program's variables; `objects`: all other
// shared memory.
StoreBound bound_of(const RegionStores& region, const Begin& begin, const DataObjects& data,
                    const MemoryKinds& objects);

class StoreBounds {
 public:
  // `objects` outlives this.
  explicit StoreBounds(const MemoryKinds& objects) : objects_(objects) {}

  // The bound for the function at `function`, which is about to be called. Reads the pointers that the code
  // will read. The first call takes some 100 ns for each instruction that the function can reach, up to a
  // fixed number of instructions. One caller at a time, outside of signal handlers.
  StoreBound of(std::uintptr_t function, const Begin& begin, Passes passes = Passes::address);

 private:
  const MemoryKinds& objects_;
  LoadedCode code_;
  DataObjects data_;
  std::unordered_map<std::uintptr_t, RegionStores> regions_;
};

}  // namespace musubi::stores
