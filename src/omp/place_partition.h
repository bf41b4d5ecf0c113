// The distribution of a team's threads over places (specification 5.1, section 2.6.2).
#pragma once

#include <algorithm>
#include <cstdint>

#include "omp/placement.h"

namespace musubi::omp {

// Places [first, first + count).
struct PlacePartition {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool operator==(const PlacePartition&) const = default;
};

struct PlaceOfThread {
  std::uint32_t place = 0;
  PlacePartition partition;
};

// For thread `index` of `threads`. `partition`: of the thread that opens the region, not empty; `place`: its
// place, in the partition.
constexpr PlaceOfThread place_of_thread(ProcBind bind, std::uint32_t threads, std::uint32_t index,
                                        const PlacePartition& partition, std::uint32_t place) {
  const std::uint64_t count = partition.count, from = place - partition.first;
  const auto at = [&](std::uint64_t step) {
    return partition.first + static_cast<std::uint32_t>((from + step) % count);
  };
  if (bind == ProcBind::primary) return {place, partition};
  if (threads > count) {
    // Several threads in a place: consecutive ones, the first places get one more.
    const std::uint64_t each = threads / count, more = threads % count;
    const std::uint64_t step = index < (each + 1) * more ? index / (each + 1) : (index - more) / each;
    const std::uint32_t own = at(step);
    return {own, bind == ProcBind::spread ? PlacePartition{own, 1} : partition};
  }
  if (bind != ProcBind::spread) return {at(index), partition};
  // The partition is cut into one part for each thread; that of the first thread contains its place.
  const auto part = [&](std::uint64_t number) {
    const std::uint64_t begin = number * count / threads, end = (number + 1) * count / threads;
    return PlacePartition{partition.first + static_cast<std::uint32_t>(begin),
                          static_cast<std::uint32_t>(end - begin)};
  };
  std::uint64_t first_part = 0;
  while (first_part + 1 < threads && place >= part(first_part + 1).first) ++first_part;
  const PlacePartition own = part((first_part + index) % threads);
  return {index == 0 ? place : own.first, own};
}

}  // namespace musubi::omp
