// Which coherence protocol a simulated job runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace musubi::sim {

// All but `migrating` are there to be compared with it (docs/decisions/baselines.md).
enum class Policy : std::uint8_t { migrating, directory, notices, timestamps, count };

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
    case Policy::count:
      break;
  }
  return "unknown";
}

}  // namespace musubi::sim
