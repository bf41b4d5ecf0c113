// The work of a rank for the others, and for its own threads, while these run program code and call nothing
// (docs/decisions/background.md). A thread that waits for a plain word to change, as `omp atomic read` and
// std::atomic::load are compiled, tells nobody that it waits. Nor does the thread that stores to the word.
//
// - A rank whose threads have not synchronised for a while takes a turn: it asks the others for a release of
//   what they have written, and acquires it. What others have changed is closed, and read anew.
// - A rank that is asked releases everything as of one moment, beside its threads, or says that it stands at
//   a barrier and has done so.
//
// The program's threads are told nothing, and pay nothing while no thread waits. When a turn closes pages
// that a thread then reads again at once, it lets order be kept in the job (flag_order.h).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/task.h"
#include "coherence/protocol.h"
#include "sync/flag_order.h"
#include "sync/stand.h"
#include "trace/counters.h"

namespace musubi::sync {

// One object per rank. Its tasks: one at a time, on a thread that runs no program code.
class Background {
 public:
  Background(FlagOrder& flags, coherence::Ordering& ordering, Stand& stand, trace::Counters& counters)
      : flags_(flags), ordering_(ordering), stand_(stand), counters_(counters) {}

  // Answers the other ranks, if any has asked for a release, or for a lock that this rank keeps. Result:
  // whether any had.
  Task<bool> answer();
  // Takes a turn. Result: whether a thread here may wait for bytes that others have changed. `silent`: no
  // thread of this rank has called the runtime for a while. Only then the turn lets order be kept, or be kept
  // for longer.
  Task<bool> turn(bool silent = true);
  // Whether order is kept, and a turn has ended since all ranks keep it: from then on no flag comes before
  // its data.
  bool is_certain() const noexcept {
    return certain_in_.load() != 0 && certain_in_.load() == flags_.settled();
  }

 private:
  Task<bool> begin(Stand::Barrier worst);
  Task<bool> has_released_at_barrier();
  Task<bool> turn_beside_unordered(bool silent);
  Task<bool> somebody_rereads();
  std::uint64_t changes() const;

  FlagOrder& flags_;
  coherence::Ordering& ordering_;
  Stand& stand_;
  trace::Counters& counters_;
  std::atomic<std::uint64_t> certain_in_{0};
};

}  // namespace musubi::sync
