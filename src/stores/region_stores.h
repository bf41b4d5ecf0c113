// All that the code of a region stores, found before it runs; and what follows from it once the region's
// argument is known.
#pragma once

#include <cstdint>
#include <vector>

#include "base/store_bound.h"
#include "stores/data_objects.h"
#include "stores/objects.h"
#include "stores/roots.h"
#include "stores/site.h"

namespace musubi::stores {

struct RegionStores {
  static constexpr std::size_t sites_max = 256;

  bool is_known = false;  // false: there may be any store
  // Wider pieces are not left whole by some store of words at a place that is not known.
  std::uint32_t words = 8;
  // A pointer may be changed by an atomic operation at a place that is not known.
  bool changes_pointers = false;
  // Storage of threads lies on stacks, too.
  bool writes_storage = false;
  std::vector<Site> sites;  // outside of frames
  Roots roots;
};

// Where a region begins.
struct Begin {
  std::uintptr_t argument;  // its record, in `frames`
  AddressRange frames;      // of all functions that wait for it
};

// What holds for the stores of `region` until it ends. `data`: the program's variables; `objects`: all other
// shared memory.
StoreBound bound_of(const RegionStores& region, const Begin& begin, const DataObjects& data,
                    const Objects& objects);

}  // namespace musubi::stores
