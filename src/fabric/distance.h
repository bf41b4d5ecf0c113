// How far away peers are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace musubi::fabric {

struct Distance {
  std::uint64_t round_trip_ns = 0;
  std::uint64_t bits_per_second = 0;  // of each rank, in each direction; 0: unlimited
};

// The bandwidth-delay product of the link, in bytes. 0: no round trip.
constexpr std::uint32_t line_bytes(Distance distance) noexcept {
  constexpr double bits_and_ns = 8e9;
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  if (distance.round_trip_ns == 0) return 0;
  if (distance.bits_per_second == 0) return most;
  const double bytes = static_cast<double>(distance.round_trip_ns) *
                       static_cast<double>(distance.bits_per_second) / bits_and_ns;
  return static_cast<std::uint32_t>(std::min(bytes, double{most}));
}

}  // namespace musubi::fabric
