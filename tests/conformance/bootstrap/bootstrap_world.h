// A driver of the bootstrap port, with the means to run a job on it and to observe its end.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace musubi::bootstrap {

struct Outcome {
  int status = -1;      // exit status of the job; -1: it has not ended
  std::string message;  // the text about its end; lines end with a newline
  std::string output;   // the ranks' output
  bool all_ended = false;
};

struct BootstrapWorld {
  std::string name;
  std::string hosts_of_four;  // the host of each of four ranks, a digit each
  bool relays_output = false;
  std::string missing;  // the reason why this machine lacks it; empty: it is available
  // Runs the act (rank_acts.h) on every rank.
  Outcome (*run)(int ranks, const std::vector<std::string>& act) = nullptr;
};
inline void PrintTo(const BootstrapWorld& world, std::ostream* out) {
  *out << world.name;
}

std::vector<BootstrapWorld> in_process_worlds();
std::vector<BootstrapWorld> local_worlds();
std::vector<BootstrapWorld> exec_worlds();

}  // namespace musubi::bootstrap
