// Detects the end of a `single nowait` for the threads that did not run it.
//
// Programs reset a variable in `single nowait` and then add to it atomically, without a wait of the other
// threads in between (the conjugate gradients of NAS do so): on shared memory the reset is visible long
// before the first addition. Here it stays in the copy of one rank until that rank releases, and then it
// would undo the additions of other ranks. So a thread that has run a single announces, when it enters the
// runtime again, that its writes are visible; and before atomic operations and locks the other threads wait
// for that. The wait is bounded, because the specification promises nothing of the kind: a single may be
// long, or wait for the other threads itself.
//
// A team of one thread, or a job of one rank, never waits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "omp/team_words.h"
#include "omp/thread.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

// Single number `number` has begun; `runs_it`: on the calling thread.
void note_single(ImplicitTask& task, std::uint32_t number, bool runs_it);

enum class Before { atomic, lock };
// Ends the thread's own single, then waits for those of other threads. Before a lock, their writes are
// visible afterwards; an atomic operation reads the newest bytes by itself.
void settle_singles(Before before);
// At a barrier and at the end of a region: ends only the thread's own single. Unless a thread waits for that
// already, the barrier's release publishes it.
void end_own_single(ImplicitTask& task);

// The singles of this rank that have ended and whose writes the next barrier releases: until then their end
// is not announced. Threads of the rank that are late for that barrier may delay it.
class UnreleasedSingles final : public runtime::Synchronization::ReleaseListener {
 public:
  // Any thread of the rank.
  void add(std::uint32_t number) noexcept;
  void on_released() noexcept override;
  // Called by a thread of the rank that has not reached the barrier yet: releases and announces the awaited
  // singles.
  void release_awaited();

 private:
  static constexpr std::uint64_t is_set = std::uint64_t{1} << 32;

  std::array<std::atomic<std::uint64_t>, words::open_single_count> numbers_{};  // the newest of each place
  std::atomic<bool> any_{false};
};

}  // namespace musubi::omp
