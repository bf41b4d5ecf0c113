// The calling thread's wait for a word that another thread changes. It is recognised from calls: polls by
// flushes or atomic operations that find no change. A single poll proves little, because programs flush for
// other reasons; many in a row are a wait.
#pragma once

#include <cstdint>

#include "runtime/job/job_threads.h"
#include "sync/flag_order.h"

namespace musubi::runtime {

class FlagWait {
 public:
  FlagWait(JobContext& job, JobThreads& threads, coherence::Protocol& protocol, sync::FlagOrder& flags)
      : job_(job), threads_(threads), protocol_(protocol), flags_(flags) {}

  // A flush has ended; `brought`: it received or published changes. Waits for a while if it is one poll of
  // many.
  void note_flush(bool brought);
  // An atomic operation on `address` has ended; `unchanged`: it left the word as it was. Waits as above if
  // `may_wait`.
  void note_atomic(std::uintptr_t address, bool unchanged, bool may_wait);

 private:
  void wait();

  JobContext& job_;
  JobThreads& threads_;
  coherence::Protocol& protocol_;
  sync::FlagOrder& flags_;
};

}  // namespace musubi::runtime
