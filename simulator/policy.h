// Which coherence protocol a simulated job runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace musubi::sim {

// `migrating`, `home_based` and `entry` are those of real jobs, `mixed` has the first two by turns, segment
// by segment. The others are there to be compared with (docs/decisions/policies.md).
enum class Policy : std::uint8_t {
  migrating,
  directory,
  notices,
  timestamps,
  home_based,
  mixed,
  entry,
  count
};

constexpr std::string_view name_of(Policy policy) {
  switch (policy) {
    case Policy::migrating:
      return "migrating";
    case Policy::directory:
      return "directory";
    case Policy::notices:
      return "notices";
    case Policy::timestamps:
      return "timestamps";
    case Policy::home_based:
      return "home_based";
    case Policy::mixed:
      return "mixed";
    case Policy::entry:
      return "entry";
    case Policy::count:
      break;
  }
  return "unknown";
}

// Made for one thread per rank, where nobody gets in between two steps.
constexpr bool is_for_comparison(Policy policy) {
  return policy == Policy::directory || policy == Policy::notices || policy == Policy::timestamps;
}

}  // namespace musubi::sim
