#include "runtime/job/job_synchronization.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/atomic_operation.h"
#include "coherence/protocol.h"
#include "coherence/regions.h"
#include "runtime/job/job_words.h"
#include "runtime/threads/tracing.h"

namespace musubi::runtime {
namespace {

using Synchronisation = vm::VerifyingVm::Synchronisation;

// An atomic operation of the program as the protocol applies it: a change of one block's current bytes.
class AtomicModification final : public coherence::Modification {
 public:
  // The operand is `first` bytes into the block. `operation` outlives this object.
  AtomicModification(const AtomicOperation& its_operation, std::size_t first) {
    operation = &its_operation;
    offset = first;
    bytes = its_operation.bytes;
  }
  void apply(std::byte* block) noexcept override { old_ = modify_in_place(block + offset, *operation); }
  void found(AtomicValue old) noexcept override { old_ = old; }
  AtomicValue old() const { return old_; }

 private:
  AtomicValue old_ = 0;
};

// A kept lock must be requested from its holder, which takes as long as some dozens of short releases.
constexpr std::uint32_t uses_before_lock_stays = 8;

std::uint32_t* processor_lock_words(const JobContext& job, JobDevices& devices) {
  if (!job.one_memory) return nullptr;
  std::byte* const region = devices.fabric().direct(Rank{0}, coherence::control_region);
  return reinterpret_cast<std::uint32_t*>(region + job.control.lock_words);
}

}  // namespace

JobSynchronization::JobSynchronization(JobContext& job, JobDevices& devices, JobThreads& threads,
                                       Words& words, coherence::Protocol& protocol,
                                       remote_lock::Grants& grants)
    : job_(job),
      devices_(devices),
      threads_(threads),
      protocol_(protocol),
      locks_(devices.fabric(), protocol, job.counters, grants,
             devices.files().control() + job.control.lock_words, job.control.lock_words, lock_count_of_all,
             job.control.signature, job.notices_max),
      processor_locks_(processor_lock_words(job, devices), threads),
      split_atomics_(words, JobWords::split_atomics_lock),
      clock_(devices.fabric(), protocol, job.control.clock_words),
      flags_(devices.fabric(), protocol, clock_, devices.files().control() + job.control.flag_words,
             job.control.flag_words, job.control.signature, job.notices_max),
      bell_(devices.fabric(), devices.files().control(),
            job.control.flag_words + sync::FlagOrder::requests_word * sizeof(std::uint64_t)),
      barrier_(job, devices, threads, protocol, flags_),
      flag_wait_(job, threads, protocol, flags_),
      relaxed_atomics_(job.settings.atomic_order == "relaxed") {}

void JobSynchronization::start_background() {
  // A turn of the background would close blocks that the program has just checked.
  const bool verifies = devices_.verifying_vm() != nullptr;
  if (job_.one_memory || verifies || job_.settings.background_sync.count() == 0) return;
  polling_thread_ = std::make_unique<PollingThread>(
      devices_.fabric(), flags_, protocol_, threads_.activity(), job_.counters, bell_,
      static_cast<std::uint64_t>(job_.settings.background_sync.count()), job_.bootstrap->wait_board());
  flags_.set_locks(&locks_);
  locks_.let_stay(uses_before_lock_stays, flags_);
  polling_thread_->start();
}

void JobSynchronization::run_between_regions() {
  if (!is_between_regions()) return;
  threads_.executor().run(flags_.join_lone_rank());
}

// Rank 0 is alone until the first such thread begins, and never afterwards: at each later barrier this rank
// is not quiescent. A second thread waits for the first, because its creator may have left out a release in
// the meantime.
void JobSynchronization::run_beside_barriers() {
  if (job_.one_memory || job_.self == Rank{0}) return;
  const std::lock_guard held(joining_lone_rank_);
  if (has_joined_lone_rank_) return;
  threads_.executor().run(flags_.join_lone_rank());
  has_joined_lone_rank_ = true;
}

void JobSynchronization::lock(LockId lock) {
  const Traced traced(Event::lock_wait, lock.value);
  if (job_.one_memory) return processor_locks_.lock(lock);
  devices_.note_synchronisation(Synchronisation::lock, lock.value);
  const DeferredHandlers handlers;
  if (!locks_.lock_at_once(lock)) {
    if (locks_.is_claimed(lock)) hand_over(locks_.give_up(lock));
    threads_.executor().run(locks_.lock(lock));
  }
  show_what_lock_covers();
}
bool JobSynchronization::try_lock(LockId lock) {
  if (job_.one_memory) return processor_locks_.try_lock(lock);
  devices_.note_synchronisation(Synchronisation::other);
  const bool taken = threads_.executor().run(locks_.try_lock(lock));
  if (taken) show_what_lock_covers();
  return taken;
}
void JobSynchronization::show_what_lock_covers() {
  if (!protocol_.ordering().holds_back()) return;
  const JobThreads::Operation operation = threads_.begin_operation();
  threads_.executor().run(flags_.acquire(operation.siblings()));
}
void JobSynchronization::unlock(LockId lock) {
  const Traced traced(Event::unlock, lock.value);
  if (job_.one_memory) return processor_locks_.unlock(lock);
  devices_.note_synchronisation(Synchronisation::unlock, lock.value);
  const DeferredHandlers handlers;
  if ((!flags_.in_use() || flags_.is_alone()) && locks_.keep(lock)) return;
  hand_over(locks_.unlock(lock));
}
void JobSynchronization::hand_over(Task<> unlock) {
  if (!flags_.in_use()) return threads_.executor().run(flags_.hand_over(std::move(unlock), true));
  const JobThreads::Operation operation = threads_.begin_operation();
  threads_.executor().run(flags_.hand_over(std::move(unlock), operation.siblings()));
}

void JobSynchronization::expect_flags() {
  if (job_.one_memory) return;
  protocol_.ordering().publish_always();
  flags_.expect();
}

void JobSynchronization::suspect_flags() {
  if (polling_thread_ != nullptr) flags_.expect();
}

void JobSynchronization::release_range(const void* address, std::size_t bytes) {
  if (job_.one_memory) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::optional<BlockId> first = job_.plan.space.block_at(begin);
  const std::optional<BlockId> last = job_.plan.space.block_at(begin + bytes - 1);
  if (!first || !last) return;
  const vm::BlockRun run{*first, last->value - first->value + 1};
  const DeferredHandlers handlers;
  hand_over(protocol_.release(coherence::Scope::of_blocks(run), false));
}

void JobSynchronization::release(sync::Channel channel) {
  if (job_.one_memory || flags_.is_alone()) return;
  const DeferredHandlers handlers;
  const Traced traced(Event::release);
  devices_.note_synchronisation(Synchronisation::release, channel);
  const JobThreads::Operation operation = threads_.begin_operation();
  threads_.executor().run(flags_.release(channel, operation.siblings()));
  if (polling_thread_ != nullptr) polling_thread_->note_release();
}
void JobSynchronization::acquire(sync::Channel channel) {
  if (job_.one_memory || flags_.is_alone()) return;
  const Traced traced(Event::acquire);
  devices_.note_synchronisation(Synchronisation::acquire, channel);
  if (flags_.in_use()) {
    const JobThreads::Operation operation = threads_.begin_operation();
    threads_.executor().run(flags_.acquire(operation.siblings()));
  } else {
    threads_.executor().run(clock_.acquire(channel));
    // A background poll may have held back updates of stacks before the job kept order.
    threads_.executor().run(protocol_.ordering().show_held_back());
  }
}

void JobSynchronization::flush() {
  if (flags_.is_alone()) return std::atomic_thread_fence(std::memory_order_seq_cst);
  const DeferredHandlers handlers;
  bool brought = false;
  if (!job_.one_memory) {
    const Traced traced(Event::flush);
    devices_.note_synchronisation(Synchronisation::other);
    const LogicalTime before = protocol_.clock();
    if (flags_.is_due_to_renew()) threads_.executor().run(flags_.renew());
    {
      const JobThreads::Operation operation = threads_.begin_operation();
      threads_.executor().run(flags_.flush(operation.siblings()));
    }
    if (polling_thread_ != nullptr) polling_thread_->note_synchronisation();
    brought = protocol_.clock() != before;
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  flag_wait_.note_flush(brought);
}

AtomicValue JobSynchronization::atomic(std::uintptr_t address, const AtomicOperation& operation) {
  const std::optional<BlockId> block = job_.plan.space.block_at(address);
  if (!block) job_.abort(1, "atomic operation on an address that is not shared");
  const Traced traced(Event::atomic, address);
  devices_.note_synchronisation(Synchronisation::other);
  const vm::Extent extent = job_.plan.space.extent(*block);
  const std::size_t offset = address - extent.address;
  if (const std::uintptr_t end = extent.address + extent.bytes; address + operation.bytes > end) {
    return split_atomics_.carry_out(
        address, end, operation,
        [this](std::uintptr_t place, const AtomicOperation& part) { return atomic(place, part); });
  }
  const DeferredHandlers handlers;
  AtomicModification modification(operation, offset);
  const bool alone = flags_.is_alone();
  const bool is_relaxed = relaxed_atomics_ || operation.order == AtomicOrder::relaxed;
  const bool orders = operation.order == AtomicOrder::meeting && !is_relaxed && !alone;
  if (orders && !job_.one_memory && flags_.is_due_to_renew()) threads_.executor().run(flags_.renew());
  modification.orders_nothing = is_relaxed;
  if (!is_relaxed && !alone && flags_.in_use()) {
    const JobThreads::Operation inside = threads_.begin_operation();
    threads_.executor().run(flags_.modify(*block, modification, inside.siblings()));
  } else if (!protocol_.modify_at_once(*block, modification)) {
    threads_.executor().run(flags_.modify(*block, modification, true));
  }
  const AtomicValue old = modification.old();
  const bool unchanged = musubi::apply(operation, old) == (old & mask_of(operation.bytes));
  flag_wait_.note_atomic(address, unchanged, orders && flags_.in_use());
  return old;
}

}  // namespace musubi::runtime
