// Control of the processes that an MPI has started for the suite's process (mpi_carriers.cpp): memory that
// all of them map. Each world of the suite is a round.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::fabric::conformance {

inline constexpr std::uint32_t carrier_count = 8;  // the largest world of the suites

struct MpiControl {
  std::atomic<std::uint32_t> round;  // futex word; the first is 1
  std::uint32_t ranks;               // number of ranks in this round
  int shared_files[carrier_count];   // files of the suite's process
  std::atomic<std::uint32_t> ended;  // futex word: the last round that is over
  std::atomic<std::uint32_t> ready;  // carriers that wait for a round
  std::atomic<bool> quit;
};

}  // namespace musubi::fabric::conformance
