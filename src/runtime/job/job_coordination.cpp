#include "runtime/job/job_coordination.h"

#include <array>
#include <cstring>

#include "os/clock.h"
#include "runtime/threads/deferred_handlers.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::runtime {
namespace {

// Words share conditions: a thread that waits for another word of the same one looks at its own, and waits
// again.
ConditionId condition_of(const void* word) noexcept {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  static_assert(Coordination::condition_count == std::size_t{1} << (64 - 52));
  return ConditionId{
      static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(word) >> 2) * golden >> 52)};
}

std::uint64_t tag_of(const void* word) noexcept {
  return reinterpret_cast<std::uintptr_t>(word);
}

}  // namespace

JobCoordination::JobCoordination(JobContext& job, JobDevices& devices, JobThreads& threads,
                                 coherence::Protocol& protocol, remote_lock::Grants& grants,
                                 JobSynchronization& synchronization)
    : job_(job),
      threads_(threads),
      synchronization_(synchronization),
      records_(devices.fabric(), grants, devices.files().control() + job.control.wait_records,
               job.control.wait_records, rw_lock_count + condition_count, waiters_max),
      locks_(devices.fabric(), protocol, job.counters, records_, job.control.signature, job.notices_max),
      conditions_(devices.fabric(), records_, rw_lock_count),
      barriers_(devices.fabric(), protocol, records_, job.control.thread_barriers,
                {job.control.signature, job.notices_max, {}}),
      alarms_(devices.fabric(), job.counters),
      collectives_(devices.fabric()) {
  collectives_.set_mismatch_listener(this);
}

void JobCoordination::take(RwLockId lock, sync::Share share) {
  const Traced traced(Event::lock_wait, lock.value);
  threads_.executor().run(locks_.lock(lock, share));
  synchronization_.show_what_lock_covers();
}

bool JobCoordination::try_take(RwLockId lock, sync::Share share) {
  const bool taken = threads_.executor().run(locks_.try_lock(lock, share));
  if (taken) synchronization_.show_what_lock_covers();
  return taken;
}

void JobCoordination::give_back(RwLockId lock, sync::Share share) {
  const Traced traced(Event::unlock, lock.value);
  synchronization_.hand_over(locks_.unlock(lock, share));
}

bool JobCoordination::wait(ConditionId condition, LockId lock, std::uint64_t timeout_ns) {
  sync::Conditions::Wait waiting;
  const std::uint64_t now = os::monotonic_ns();
  const bool ends = timeout_ns < forever - now;
  threads_.executor().run(conditions_.join(condition, waiting));
  synchronization_.unlock(lock);
  if (ends) alarms_.set(now + timeout_ns, waiting.expiry());
  const bool chosen = threads_.executor().run(conditions_.await(condition, waiting));
  if (ends) alarms_.cancel(now + timeout_ns, waiting.expiry());
  synchronization_.lock(lock);
  return chosen;
}

void JobCoordination::signal(ConditionId condition) {
  threads_.executor().run(conditions_.signal(condition));
}

void JobCoordination::broadcast(ConditionId condition) {
  threads_.executor().run(conditions_.broadcast(condition));
}

bool JobCoordination::pass_barrier(std::uint64_t name, std::uint32_t threads) {
  static_assert(barrier_threads_max == sync::ThreadBarriers::threads_max);
  const DeferredHandlers handlers;
  const Waiting waiting(Wait::condition, 0, name);
  sync::ThreadBarriers::Passage passage(barriers_, name, threads);
  synchronization_.hand_over(passage.arrive());
  threads_.executor().run(passage.leave());
  synchronization_.show_what_lock_covers();
  return passage.is_last();
}

void JobCoordination::announce_sleep(const void* word, Sleep& sleep) {
  threads_.executor().run(conditions_.join(condition_of(word), sleep, tag_of(word)));
}

void JobCoordination::sleep(const void* word, Sleep& sleep, std::uint64_t timeout_ns) {
  const std::uint64_t deadline_ns = os::monotonic_ns() + timeout_ns;
  alarms_.set(deadline_ns, sleep.expiry());
  (void)threads_.executor().run(conditions_.await(condition_of(word), sleep));
  alarms_.cancel(deadline_ns, sleep.expiry());
}

// A wake that has already chosen the thread was meant for one that waits.
void JobCoordination::withdraw_sleep(const void* word, Sleep& sleep) {
  threads_.executor().run(conditions_.expire(sleep.expiry()));
  const bool chosen = threads_.executor().run(conditions_.await(condition_of(word), sleep));
  if (chosen) wake_one(word);
}

void JobCoordination::wake_one(const void* word) {
  threads_.executor().run(conditions_.wake_one(condition_of(word), tag_of(word)));
}

void JobCoordination::wake_all(const void* word) {
  threads_.executor().run(conditions_.broadcast(condition_of(word)));
}

void JobCoordination::gather(const CollectiveTerms& terms, const void* mine, std::span<std::byte> all) {
  const auto bytes = static_cast<std::size_t>(terms.bytes);
  const std::span<const std::byte> value(static_cast<const std::byte*>(mine), bytes);
  (void)threads_.executor().run(collectives_.gather(terms, value));
  if (bytes == 0) return;
  const bool one = terms.giver != CollectiveTerms::all_give;
  const std::uint32_t first = one ? terms.giver : 0;
  const std::uint32_t count = one ? 1 : job_.ranks;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(all.data() + i * bytes, collectives_.value_of(Rank{first + i}).data(), bytes);
  }
}

void JobCoordination::begin_barrier(const CollectiveTerms& terms) noexcept {
  collectives_.begin_barrier(terms);
}

void JobCoordination::on_mismatch(const sync::CollectiveTerms& own, Rank other,
                                  const sync::CollectiveTerms& theirs) noexcept {
  std::array<char, 400> text{};
  if (writer_ != nullptr) writer_->write(text, job_.self, own, other, theirs);
  job_.abort(1, text.data());
}

}  // namespace musubi::runtime
