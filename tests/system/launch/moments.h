// Random moments in a job's life that can be replayed: drawn from a seed, and defined by counted events, not
// by time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/random.h"
#include "launched_job.h"

namespace musubi::test {

// From LAUNCH_TEST_SEED, or a new one; printed. Not MUSUBI_...: the jobs would take it for a setting.
inline std::uint64_t seed_of_test() {
  const char* given = std::getenv("LAUNCH_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{std::random_device{}()};
  std::printf("repeat with LAUNCH_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

struct Moment {
  std::size_t processes = 0;  // this many ranks execute the program
  std::size_t lines = 0;      // and this many lines have been printed

  // For a job of `ranks` ranks: in one case of three while its ranks are being started.
  static Moment draw(Random& random, std::size_t ranks, std::size_t lines_max) {
    if (random.below(3) == 0) return {random.below(ranks + 1), 0};
    return {ranks, random.between(0, lines_max)};
  }
  std::string text() const {
    return std::to_string(processes) + " processes, " + std::to_string(lines) + " lines";
  }
  // False when the moment does not come.
  bool await(const LaunchedJob& job) const {
    return eventually([&] {
      const std::string output = job.output();
      return job.processes().size() >= processes &&
             static_cast<std::size_t>(std::count(output.begin(), output.end(), '\n')) >= lines;
    });
  }
};

}  // namespace musubi::test
