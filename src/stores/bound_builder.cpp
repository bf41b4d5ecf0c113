#include "stores/bound_builder.h"

#include <algorithm>
#include <numeric>

namespace musubi::stores {
namespace {

bool is_in_one_range(const NarrowPlace& a, const NarrowPlace& b) {
  return a.begin == b.begin && a.end == b.end && a.bytes == b.bytes && a.unit == b.unit;
}

// The largest stride that covers both places of one range.
std::uint32_t common_stride(const NarrowPlace& a, const NarrowPlace& b) {
  const std::uintptr_t apart = a.origin > b.origin ? a.origin - b.origin : b.origin - a.origin;
  return static_cast<std::uint32_t>(std::gcd(std::uintptr_t{std::gcd(a.stride, b.stride)}, apart));
}

}  // namespace

bool BoundBuilder::add(const NarrowPlace& place) {
  if (place.unit >= bound_.bytes) return true;
  // Unrolled loops have many stores whose addresses the store of the remainder loop covers.
  const auto covers = [](const NarrowPlace& a, const NarrowPlace& b) {
    return a == b || (a.stride != 0 && is_in_one_range(a, b) && common_stride(a, b) == a.stride);
  };
  if (std::any_of(begin(), end(), [&](const NarrowPlace& other) { return covers(other, place); }))
    return true;
  const NarrowPlace* const kept =
      std::remove_if(begin(), end(), [&](const NarrowPlace& other) { return covers(place, other); });
  bound_.place_count = static_cast<std::uint32_t>(kept - begin());
  if (bound_.place_count == StoreBound::places_max && !join(place)) {
    limit(sizeof(int));
    if (place.unit >= bound_.bytes) return true;
    if (bound_.place_count == StoreBound::places_max) return false;
  } else if (bound_.place_count == StoreBound::places_max) {
    return true;
  }
  bound_.places[bound_.place_count++] = place;
  return true;
}

// Joins it with the place with which it has the largest common stride.
bool BoundBuilder::join(const NarrowPlace& place) {
  NarrowPlace* best = nullptr;
  for (NarrowPlace* other = begin(); other != end(); ++other) {
    if (!is_in_one_range(*other, place)) continue;
    if (best == nullptr || common_stride(*other, place) > common_stride(*best, place)) best = other;
  }
  if (best != nullptr) best->stride = common_stride(*best, place);
  return best != nullptr;
}

void BoundBuilder::limit(std::uint32_t widest) {
  bound_.bytes = std::min(bound_.bytes, widest);
  const NarrowPlace* const kept =
      std::remove_if(begin(), end(), [this](const NarrowPlace& place) { return place.unit >= bound_.bytes; });
  bound_.place_count = static_cast<std::uint32_t>(kept - begin());
}

}  // namespace musubi::stores
