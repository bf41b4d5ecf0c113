// What to start, and how.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/local/places.h"

namespace musubi::bootstrap {

struct LaunchPlan {
  std::string program;                   // path of the file to execute
  std::vector<std::string> arguments;    // with the program's name as the first
  std::vector<std::string> environment;  // `NAME=value`; the invitation is added for each rank
  std::uint32_t ranks = 1;
  // Those that each rank is pinned to, by rank; empty: no rank is pinned.
  std::vector<std::vector<std::uint32_t>> processors;
  bool label_output = false;
  bool plain = false;  // a program that need not join the job
  std::chrono::nanoseconds abort_timeout{0};
  std::chrono::nanoseconds stall_report{0};  // 0: never
  FindPlaces find_places;                    // or none: reports show addresses
};

}  // namespace musubi::bootstrap
