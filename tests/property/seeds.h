// Seeds of the tests in this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "base/random.h"

namespace musubi::property {

// The number of simulated programs to run out of `wanted`: MUSUBI_SIMULATION_PERCENT of them (sanitizer
// builds).
inline unsigned programs(unsigned wanted) {
  const char* percent = std::getenv("MUSUBI_SIMULATION_PERCENT");
  return percent == nullptr ? wanted : wanted * static_cast<unsigned>(std::atoi(percent)) / 100 + 1;
}

// Calls check(random) for `cases` consecutive seeds, from MUSUBI_TEST_SEED or from a new one. A failure names
// its seed.
template <class Check>
void for_all(unsigned cases, Check check) {
  const char* given = std::getenv("MUSUBI_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  for (unsigned i = 0; i < (given != nullptr ? 1 : cases); ++i) {
    const std::uint64_t seed = first + i;
    SCOPED_TRACE("repeat with MUSUBI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    check(random);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace musubi::property
