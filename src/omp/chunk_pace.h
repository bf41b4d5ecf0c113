// The number of chunks of a dynamic loop that a thread takes at once if the word that hands them out is far.
#pragma once

#include <algorithm>
#include <cstdint>

namespace musubi::omp {

// Plain data, zero before the loop. A batch is large enough that the round trip is a small part of its run
// time, and small enough that the threads still end together. Chunks that run longer than a round trip are
// taken one by one, as if the word were near.
struct ChunkPace {
  static constexpr std::uint64_t work_per_trip = 16;
  static constexpr std::uint64_t growth = 4;     // from one batch to the next, at most
  static constexpr std::uint64_t rest_part = 4;  // divides a thread's share of the rest: a batch's maximum

  std::uint64_t chunks = 0;   // of the newest batch; 0: none yet
  std::uint64_t came_ns = 0;  // when it arrived
  std::uint64_t trip_ns = 0;  // the shortest round trip so far

  // The number of chunks to ask for at `now_ns`, if `rest` chunks are left to `threads` threads; at least 1.
  constexpr std::uint64_t next(std::uint64_t now_ns, std::uint64_t rest, std::uint32_t threads) const {
    if (chunks == 0) return 1;
    const std::uint64_t spent_ns = std::max<std::uint64_t>(1, now_ns - came_ns);
    const unsigned __int128 work_ns = static_cast<unsigned __int128>(trip_ns) * work_per_trip * chunks;
    const unsigned __int128 wanted = std::min<unsigned __int128>(work_ns / spent_ns, chunks * growth);
    // Assume that the other threads have taken as many since this thread last asked.
    const std::uint64_t gone = chunks * threads;
    const std::uint64_t fair = (rest > gone ? rest - gone : 0) / threads / rest_part;
    return std::max<std::uint64_t>(1, std::min(static_cast<std::uint64_t>(wanted), fair));
  }

  // A batch of `count` chunks was requested at `asked_ns`, and arrived at `got_ns`.
  constexpr void note_batch(std::uint64_t asked_ns, std::uint64_t got_ns, std::uint64_t count) {
    const std::uint64_t trip = std::max<std::uint64_t>(1, got_ns - asked_ns);
    trip_ns = chunks == 0 ? trip : std::min(trip_ns, trip);
    chunks = count;
    came_ns = got_ns;
  }
};

}  // namespace musubi::omp
