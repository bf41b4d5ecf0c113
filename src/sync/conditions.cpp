#include "sync/conditions.h"

#include "base/check.h"

namespace musubi::sync {

// Reader-writer locks have their holders in the word that is the tag of the waiting threads here.
Task<> Conditions::join(ConditionId condition, Wait& wait, std::uint64_t tag) {
  MUSUBI_CHECK(!wait.waiter_, "one wait joins two queues");
  wait.waiter_.emplace(records_, false);
  if (hooks_.injected(InjectedBug::condition_joined_late)) co_return;
  WaitRecords::Opened opened = co_await records_.open(record(condition));
  std::uint64_t& tags = opened.record.holders;
  tags = opened.record.first.is_none() || tags == tag ? tag : several_tags;
  co_await records_.append(opened, *wait.waiter_);
  co_await records_.close(opened);
}

// Another thread may have taken this one out of the queue just before the wait expired. Then it counts as
// chosen: otherwise the signal would be lost to the other waiting threads.
Task<bool> Conditions::await(ConditionId condition, Wait& wait) {
  MUSUBI_CHECK(wait.waiter_.has_value());
  MUSUBI_CHECK(wait.waiter_.has_value(), "a wait that joined no queue");
  WaitRecords::Waiter& waiter = *wait.waiter_;
  if (hooks_.injected(InjectedBug::condition_joined_late)) {
    WaitRecords::Opened late = co_await records_.open(record(condition));
    co_await records_.append(late, waiter);
    co_await records_.close(late);
  }
  co_await waiter.grant.granted;
  if (!waiter.grant.expired) co_return true;
  WaitRecords::Opened opened = co_await records_.open(record(condition));
  const bool waited = co_await records_.remove(opened, waiter.link());
  co_await records_.close(opened);
  if (waited) {
    records_.withdraw(waiter);
    co_return false;
  }
  co_await waiter.grant.granted_late;
  co_return !hooks_.injected(InjectedBug::late_signal_dropped);
}

Task<> Conditions::signal(ConditionId condition) {
  return wake(condition, false, 0);
}

Task<> Conditions::broadcast(ConditionId condition) {
  return wake(condition, true, 0);
}

Task<> Conditions::wake_one(ConditionId condition, std::uint64_t tag) {
  return wake(condition, false, tag);
}

Task<> Conditions::wake(ConditionId condition, bool all, std::uint64_t tag) {
  const WaitRecord seen = co_await records_.look(record(condition));
  if (seen.first.is_none()) co_return;
  WaitRecords::Opened opened = co_await records_.open(record(condition));
  while (!opened.record.first.is_none()) {
    const WaiterLink first = co_await records_.pop(opened);
    co_await records_.wake(first);
    if (!all && opened.record.holders == tag) break;
  }
  co_await records_.close(opened);
}

}  // namespace musubi::sync
