// Condition variables of the job: threads of any rank sleep until another thread signals. A thread waits in
// three steps: it joins the queue while it holds the program's lock, releases the lock, and awaits the
// signal; a signal given by a thread that has held the lock since is never lost. Then it takes the lock
// again, which makes the writes of other threads visible.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "sync/wait_records.h"

namespace musubi::sync {

class Conditions {
 public:
  // Condition i is record `first_record` + i of `records`.
  Conditions(fabric::Fabric& fabric, WaitRecords& records, std::uint64_t first_record, Hooks hooks = {})
      : fabric_(fabric), records_(records), first_record_(first_record), hooks_(hooks) {}

  // One wait of one thread.
  class Wait {
   public:
    // An argument for expire(), from join() until any later time.
    remote_lock::Grants::Expiry expiry() const { return {waiter_->grant.key, waiter_->grant.serial}; }

   private:
    friend class Conditions;
    std::optional<WaitRecords::Waiter> waiter_;
  };
  // `tag`: threads with different tags may wait for one condition; see wake_one().
  Task<> join(ConditionId condition, Wait& wait, std::uint64_t tag = 0);
  // Blocks until signal() chooses this thread, or the wait expires. Result: whether it was chosen.
  Task<bool> await(ConditionId condition, Wait& wait);
  // Ends a wait of this rank if it has not ended; any thread of the rank.
  Task<> expire(remote_lock::Grants::Expiry expiry) { return remote_lock::Grants::expire(fabric_, expiry); }

  // Wakes the longest-waiting thread, or all threads that wait now. Without a waiting thread it costs one
  // read.
  Task<> signal(ConditionId condition);
  Task<> broadcast(ConditionId condition);
  // As signal() for the threads with this tag. Wakes all threads that wait now if some may have another one.
  Task<> wake_one(ConditionId condition, std::uint64_t tag);

 private:
  static constexpr std::uint64_t several_tags = ~std::uint64_t{0};

  std::uint64_t record(ConditionId condition) const { return first_record_ + condition.value; }
  Task<> wake(ConditionId condition, bool all, std::uint64_t tag);

  fabric::Fabric& fabric_;
  WaitRecords& records_;
  const std::uint64_t first_record_;
  [[no_unique_address]] const Hooks hooks_;
};

}  // namespace musubi::sync
