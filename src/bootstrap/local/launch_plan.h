// What to start, and how.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace musubi::bootstrap {

// Whether each rank is pinned to threads_per_rank cores of its own; never when there are not enough for all
// ranks.
enum class Binding {
  none,
  core,
  automatic,  // when the job takes more than half of the cores: two such jobs cannot both want the same ones
};

struct LaunchPlan {
  std::string program;                   // path of the file to execute
  std::vector<std::string> arguments;    // with the program's name as the first
  std::vector<std::string> environment;  // `NAME=value`; the invitation is added for each rank
  std::uint32_t ranks = 1;
  std::uint32_t threads_per_rank = 1;
  Binding binding = Binding::none;
  bool label_output = false;
  bool plain = false;  // a program that need not join the job
  std::chrono::nanoseconds abort_timeout{0};
};

}  // namespace musubi::bootstrap
