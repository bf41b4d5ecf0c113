// Synchronisation by a rank on behalf of other ranks, and of its own threads, while these run program code
// and make no calls (docs/decisions/background.md). A thread that waits for a plain word to change, as `omp
// atomic read` and std::atomic::load are compiled, does not announce its wait. Neither does the thread that
// stores to the word.
//
// - A rank whose threads have not synchronised for a while polls: it asks the other ranks to release their
//   writes, and acquires them. Blocks that other ranks have changed are closed, and fetched again at the next
//   access.
// - A rank that is asked releases everything as of one moment, while its threads run, or answers that it is
//   at a barrier and has released there.
//
// The program's threads are not notified, and pay nothing while no thread waits. If a poll closes pages that
// a thread immediately reads again, it makes the job keep order (flag_order.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/task.h"
#include "coherence/protocol.h"
#include "sync/flag_order.h"
#include "sync/rank_activity.h"
#include "trace/counters.h"

namespace musubi::sync {

// One object per rank. Its tasks run one at a time, on a thread that runs no program code.
class Background {
 public:
  Background(FlagOrder& flags, coherence::Ordering& ordering, RankActivity& activity,
             trace::Counters& counters)
      : flags_(flags), ordering_(ordering), activity_(activity), counters_(counters) {}

  // Answers other ranks that have asked for a release, or for a lock that this rank keeps. Result: whether
  // any had.
  Task<bool> answer();
  // Polls. Result: whether a thread here may wait for bytes that other ranks have changed. `silent`: no
  // thread of this rank has called the runtime for a while. Only then may the poll make the job keep order,
  // or keep it longer.
  Task<bool> poll(bool silent = true);
  // Whether order is kept, and a poll has ended since all ranks keep it: from then on no flag becomes visible
  // before its data.
  bool is_certain() const noexcept {
    return certain_in_.load() != 0 && certain_in_.load() == flags_.settled();
  }

 private:
  Task<bool> begin();
  Task<bool> has_released_at_barrier();
  Task<bool> poll_without_order(bool silent);
  Task<bool> a_thread_rereads();
  std::uint64_t changes() const;

  FlagOrder& flags_;
  coherence::Ordering& ordering_;
  RankActivity& activity_;
  trace::Counters& counters_;
  std::atomic<std::uint64_t> certain_in_{0};
};

}  // namespace musubi::sync
