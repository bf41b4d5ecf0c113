#include "omp/kmp/doacross.h"

#include <algorithm>
#include <array>

#include "omp/entry.h"
#include "omp/job.h"
#include "omp/kmp/abi.h"
#include "omp/worksharing.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// As the compiler passes it: the last value is included.
struct Dimension {
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;

  std::uint64_t count() const {
    if (step == 0 || (step > 0 ? first > last : first < last)) return 0;
    return position_of(last) + 1;
  }
  bool contains(std::int64_t value) const {
    return step > 0 ? value >= first && value <= last : value <= first && value >= last;
  }
  // REQUIRES: contains(value).
  std::uint64_t position_of(std::int64_t value) const {
    const auto from = static_cast<std::uint64_t>(first), to = static_cast<std::uint64_t>(value);
    const auto stride = static_cast<std::uint64_t>(step);
    return step > 0 ? (to - from) / stride : (from - to) / (0 - stride);
  }
};

// The nest of the calling thread; one at a time.
struct Nest {
  static constexpr std::uint32_t depth_max = 32;

  std::array<Dimension, depth_max> dimensions;
  std::uint32_t depth = 0;
  std::uint32_t collapsed = 1;  // outer loops that are one work-shared loop
  bool is_announced = false;    // its loop has not begun
};
thread_local constinit Nest nest{};

// The collapsed loops, then one for each further dimension.
using Coordinates = std::array<std::uint64_t, Nest::depth_max>;

// Result: whether the nest has this iteration.
bool coordinates_of(const std::int64_t* values, Coordinates& coordinates) {
  std::uint64_t outer = 0;
  for (std::uint32_t i = 0; i < nest.depth; ++i) {
    const Dimension& dimension = nest.dimensions[i];
    if (!dimension.contains(values[i])) return false;
    const std::uint64_t position = dimension.position_of(values[i]);
    if (i < nest.collapsed) {
      outer = outer * dimension.count() + position;
    } else {
      coordinates[i + 1 - nest.collapsed] = position;
    }
  }
  coordinates[0] = outer;
  return true;
}

// How many outer loops have so many iterations together.
std::uint32_t collapsed_for(std::uint64_t count) {
  std::uint64_t product = 1;
  for (std::uint32_t i = 0; i < nest.depth; ++i) {
    product *= nest.dimensions[i].count();
    if (product == count) return i + 1;
  }
  return 1;
}

}  // namespace

namespace musubi::omp::kmp {

bool begin_announced_doacross(const IterationSpace& space, Schedule schedule, std::uint64_t chunk,
                              bool by_shares) {
  if (!nest.is_announced) return false;
  nest.is_announced = false;
  nest.collapsed = collapsed_for(space.count);
  Coordinates extents;
  extents[0] = space.count;
  const std::uint32_t inner = nest.depth - nest.collapsed;
  for (std::uint32_t i = 0; i < inner; ++i) extents[i + 1] = nest.dimensions[nest.collapsed + i].count();
  doacross_begin(implicit_task(), space, {extents.data(), inner + 1}, schedule, chunk, by_shares);
  return true;
}

}  // namespace musubi::omp::kmp

extern "C" {

MUSUBI_EXPORT void __kmpc_doacross_init(Place*, GlobalThread, std::int32_t depth,
                                        const Dimension* dimensions) {
  MUSUBI_OMP_ENTRY();
  if (static_cast<std::uint32_t>(depth) > Nest::depth_max)
    unsupported("a doacross loop with more than 32 nested loops", "name fewer loops in its ordered clause");
  nest.depth = static_cast<std::uint32_t>(depth);
  std::copy_n(dimensions, depth, nest.dimensions.data());
  nest.is_announced = true;
}

MUSUBI_EXPORT void __kmpc_doacross_wait(Place*, GlobalThread, const std::int64_t* values) {
  MUSUBI_OMP_ENTRY();
  Coordinates coordinates;
  if (coordinates_of(values, coordinates)) doacross_wait(implicit_task(), coordinates.data());
}

MUSUBI_EXPORT void __kmpc_doacross_post(Place*, GlobalThread, const std::int64_t* values) {
  MUSUBI_OMP_ENTRY();
  Coordinates coordinates;
  if (coordinates_of(values, coordinates)) doacross_post(implicit_task(), coordinates.data());
}

MUSUBI_EXPORT void __kmpc_doacross_fini(Place*, GlobalThread) {
  nest.is_announced = false;
}

}  // extern "C"
