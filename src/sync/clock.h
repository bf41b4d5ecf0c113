// The clock of the job: one word at rank 0 that releases raise and acquires read (coherence.md section 7).
#pragma once

#include <atomic>

#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"

namespace musubi::sync {

class Clock {
 public:
  // The word lies in the control region of rank 0 at `offset`.
  Clock(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset)
      : fabric_(fabric), protocol_(protocol), offset_(offset) {}

  // Releases everything and raises the job's clock to cover it. `as_of_now`: also releases, as of one moment,
  // what other threads of the rank write meanwhile (Ordering::release_as_of_now).
  Task<> release(bool as_of_now = false);
  // Makes everything visible here that was released by the clock before.
  Task<> acquire();
  // Whether other ranks have raised the clock since the last look or release here. A hint.
  Task<bool> has_moved();

 private:
  Task<LogicalTime> now();

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  std::uint64_t offset_;
  std::atomic<std::uint64_t> last_seen_{0};
};

}  // namespace musubi::sync
