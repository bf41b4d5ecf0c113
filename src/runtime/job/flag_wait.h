// The calling thread's wait for a word that another thread is to change. It shows in calls: looks by flushes
// or by atomic operations that bring nothing. One such look says little, because programs flush for other
// reasons. Many in a row are a wait.
#pragma once

#include <cstdint>

#include "runtime/job/job_threads.h"
#include "sync/flag_order.h"

namespace musubi::runtime {

class FlagWait {
 public:
  FlagWait(JobContext& job, JobThreads& threads, coherence::Protocol& protocol, sync::FlagOrder& flags)
      : job_(job), threads_(threads), protocol_(protocol), flags_(flags) {}

  // A flush has ended; `brought` something, or published it. Waits a while when it is one look of many.
  void note_flush(bool brought);
  // An atomic operation on `address` has ended, and left the word as it was if `unchanged`. Waits as above,
  // where `may_wait`.
  void note_atomic(std::uintptr_t address, bool unchanged, bool may_wait);

 private:
  void wait();

  JobContext& job_;
  JobThreads& threads_;
  coherence::Protocol& protocol_;
  sync::FlagOrder& flags_;
};

}  // namespace musubi::runtime
