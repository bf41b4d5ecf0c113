// The sizes and limits of the protocol, as constructor arguments: a test can use a signature of two notices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/hooks.h"

namespace musubi::coherence {

// How many notices a signature holds best. Every rank reads every notice, and most notices name blocks that
// few ranks read. Readers of blocks without a notice look for new versions themselves, at the same cost in a
// job of any size: a trip. The longer a trip takes, the more notices are worth their time, up to the number
// that fits into one message of the barrier.
constexpr std::size_t signature_notices_for(std::uint32_t ranks, std::uint64_t round_trip_ns) {
  constexpr std::uint32_t few_ranks = 8;
  if (ranks <= few_ranks) return 4096;
  if (round_trip_ns < 1'000) return 16;  // mapped memory
  return round_trip_ns < 10'000 ? 32 : 112;
}

struct Parameters {
  std::uint64_t lease_ticks = 1;  // of the first lease of a version
  std::size_t signature_notices_max = 1024;
  std::size_t release_window = 32;             // blocks released at the same time
  std::uint32_t downgrade_after_releases = 8;  // compared in a row without a change
  std::size_t cached_bytes =
      1 << 20;  // a release that compares more finds the blocks in memory, not in a cache
  std::uint32_t read_retries_max = 16;   // then a reader takes the lock
  bool leave_unpublished = true;         // blocks that no other rank reads have no public copy and no twin
  std::uint32_t fetches_ahead_max = 15;  // in a row, then the block is left to fault once; 0: none
  std::size_t first_changes_share =
      16;  // of a block, one part of so many may be sent to the home at first; 0: none, ever
  std::uint32_t relay_places = 16;  // readers of a small block that a rank serves itself, 16 at most; 0: all
  std::uint32_t lease_probe_releases =
      16;                         // one release of so many gives no lease: it shows which ranks still read
  std::size_t run_bytes_max = 0;  // of blocks opened together: a missed block and those after it; 0: none
  std::size_t far_run_bytes_max = 0;  // the same, where the line to the peer holds much (Runs::length_max)
  std::uint32_t give_back_after_releases = 64;  // quiescent ones: public copies that no rank needs; 0: never
  bool report_races = false;                    // words that two ranks have changed are noted one by one
  [[no_unique_address]] Hooks hooks;            // of the simulator; empty in the shipped build
};

}  // namespace musubi::coherence
