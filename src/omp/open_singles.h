// The end of a `single nowait`, for the threads that did not run it.
//
// Programs reset a variable in `single nowait` and then add to it atomically, with nothing between that makes
// the other threads wait (the conjugate gradients of NAS do so): on shared memory the reset is there long
// before the first addition. Here it stays in the copy of one rank until that rank releases, and then it
// would undo the additions of others. So a thread that has run a single says, when it enters the runtime
// again, that its writes can be seen; and before atomic operations and locks the other threads wait for that.
// The wait is bounded, because the specification promises nothing of the kind: a single may be long, or wait
// for the others itself.
//
// Where a team has one thread, or the job one rank, nothing is waited for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "omp/team_words.h"
#include "omp/thread.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

// Single number `number` has begun; the calling thread runs it or not.
void note_single(ImplicitTask& task, std::uint32_t number, bool runs_it);

enum class Before { atomic, lock };
// Ends the own single, then waits for those of others. What those wrote is visible afterwards before a lock;
// an atomic operation sees the newest bytes by itself.
void settle_singles(Before before);
// At a barrier and at the end of a region: ends the own single only. Unless somebody waits for that already,
// it is left to the barrier's release.
void end_own_single(ImplicitTask& task);

// The singles of this rank that have ended and whose writes the next barrier releases: until then their end
// is not told. The threads of the rank that come later to that barrier may still take their time.
class UnreleasedSingles final : public runtime::Synchronization::ReleaseListener {
 public:
  // Any thread of the rank.
  void add(std::uint32_t number) noexcept;
  void on_released() noexcept override;
  // By a thread of the rank that is not at the barrier yet: releases and tells of those that are waited for.
  void release_awaited();

 private:
  static constexpr std::uint64_t is_set = std::uint64_t{1} << 32;

  std::array<std::atomic<std::uint64_t>, words::open_single_count> numbers_{};  // the newest of each place
  std::atomic<bool> any_{false};
};

}  // namespace musubi::omp
