// The sizes of objects, and their number in a span. Steps of 16 bytes up to 64, then four steps per doubling:
// an object of more than 64 bytes is at most a quarter larger than the request.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace musubi::global_heap {

// Spans are whole units and begin at a multiple of a unit.
inline constexpr std::uint64_t unit_bytes = 65536;
inline constexpr std::uint64_t granule_bytes = 16;

inline constexpr unsigned class_count = 152;  // up to 8 TiB
// Objects of these classes, up to 256 KiB, go through caches. A larger one is a span of its own.
inline constexpr unsigned cached_class_count = 52;
inline constexpr unsigned batch_objects_max = 62;

// The class whose objects have at least `bytes` bytes. REQUIRES: bytes <= object_bytes(class_count - 1).
constexpr unsigned class_of(std::uint64_t bytes) {
  const std::uint64_t last = std::max<std::uint64_t>(bytes, 1) - 1;
  if (last < 64) return static_cast<unsigned>(last / granule_bytes);
  const auto width = static_cast<unsigned>(std::bit_width(last));
  return 4 * (width - 6) + static_cast<unsigned>((last >> (width - 3)) & 3);
}
constexpr std::uint64_t object_bytes(unsigned size_class) {
  if (size_class < 4) return (size_class + 1) * granule_bytes;
  return std::uint64_t{5 + size_class % 4} << (3 + size_class / 4);
}

// Chosen so that at most an eighth is left over after the last object.
constexpr std::uint64_t span_units(unsigned size_class) {
  const std::uint64_t bytes = object_bytes(size_class);
  if (bytes <= unit_bytes / 4) return 1;
  if (bytes <= unit_bytes) return 4;
  if (bytes <= unit_bytes * 4) return 16;
  return bytes / unit_bytes;
}
constexpr std::uint64_t span_objects(unsigned size_class) {
  return span_units(size_class) * unit_bytes / object_bytes(size_class);
}
// The size of a magazine, which moves to and from a heap as a whole: at most 64 KiB, or one object.
constexpr unsigned batch_objects(unsigned size_class) {
  const std::uint64_t fit = unit_bytes / object_bytes(size_class);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 1, batch_objects_max));
}

static_assert(object_bytes(cached_class_count - 1) == 4 * unit_bytes);
static_assert(object_bytes(class_count - 1) == std::uint64_t{1} << 43);

}  // namespace musubi::global_heap
