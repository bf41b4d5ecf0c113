// Runs one configuration to its end under all checkers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "simulator/configuration.h"

namespace musubi::sim {

struct Verdict {
  std::string violation;  // empty: all is well
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  std::uint64_t virtual_ns = 0;
  std::map<std::string_view, std::uint64_t> marks;  // rare situations that were reached, and how often

  bool passed() const { return violation.empty(); }
};

Verdict run(const Configuration& configuration);

// The one line that repeats a run.
std::string repeat_line(const Configuration& configuration);

}  // namespace musubi::sim
