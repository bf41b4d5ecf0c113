// Barriers, locks, flushes and atomic operations of a rank.
#include <sched.h>
#include <time.h>

#include <cstring>

#include "runtime/job_runtime.h"
#include "runtime/time_spent.h"

namespace musubi::runtime {
namespace {

using trace::Counter;

// Flushes in a row that brought nothing and published nothing.
constinit thread_local std::uint32_t idle_flushes_of_thread = 0;

// Changes a word of the live bytes by a processor atomic: another thread of this rank may store to it plainly
// at the same time (a spin lock that is given back), and that store must not vanish between our load and our
// store.
template <class Word>
AtomicValue modify_word(std::byte* place, const AtomicOperation& operation) noexcept {
  auto* word = reinterpret_cast<Word*>(place);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<Word>(musubi::apply(operation, old)), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

class AtomicModification final : public coherence::Modification {
 public:
  AtomicModification(const AtomicOperation& operation, std::size_t offset)
      : operation_(operation), offset_(offset) {}
  void apply(std::byte* bytes) noexcept override {
    std::byte* place = bytes + offset_;
    const bool aligned = reinterpret_cast<std::uintptr_t>(place) % operation_.bytes == 0;
    switch (aligned ? operation_.bytes : 0) {
      case 1:
        old_ = modify_word<std::uint8_t>(place, operation_);
        return;
      case 2:
        old_ = modify_word<std::uint16_t>(place, operation_);
        return;
      case 4:
        old_ = modify_word<std::uint32_t>(place, operation_);
        return;
      case 8:
        old_ = modify_word<std::uint64_t>(place, operation_);
        return;
      default:
        break;
    }
    std::memcpy(&old_, place, operation_.bytes);
    const AtomicValue next = musubi::apply(operation_, old_);
    std::memcpy(place, &next, operation_.bytes);
  }
  AtomicValue old() const { return old_; }

 private:
  const AtomicOperation& operation_;
  std::size_t offset_;
  AtomicValue old_ = 0;
};

}  // namespace

void JobRuntime::barrier(BarrierPayload& payload) {
  if (ranks_ == 1) return;
  if (flags_in_use()) release_before_barrier();
  // Threads that the program made by itself may be at work meanwhile, and signal handlers of the program on
  // any.
  const bool complete = attached_threads_.load() <= 1 + stacks_->in_use();
  const bool quiescent = complete && fault_handler_->user_signals().with_handler() == 0;
  sync::Barrier::Passage passage(payload, quiescent, complete);
  const HandlersHeldBack handlers;
  if (barrier_->pass(passage)) return;
  TimeSpent time(counters_, Counter::release_ns);
  executor().run(barrier_->finish(passage));
}

void JobRuntime::lock(LockId lock) {
  executor().run(locks_->lock(lock));
}
bool JobRuntime::try_lock(LockId lock) {
  return executor().run(locks_->try_lock(lock));
}
void JobRuntime::unlock(LockId lock) {
  executor().run(locks_->unlock(lock));
}

void JobRuntime::release() {
  if (ranks_ > 1) release_in_order();
}
void JobRuntime::acquire() {
  if (ranks_ > 1) executor().run(clock_->acquire());
}
// A program that waits for a flag flushes until it changes: then whoever is to change it needs the processor.
// And the change may have been published without a word to the clock, by an atomic operation or before a
// barrier: time passes for the one who waits, so that what it has read is looked at again.
void JobRuntime::flush() {
  constexpr std::uint32_t looks_before_yield = 2, looks_before_nap = 200, looks_before_time_passes = 50;
  const LogicalTime before = protocol_->clock();
  note_flush();
  if (ranks_ > 1) {
    // First, so that a release finds copies closed that others have changed, and brings no flag into open
    // pages: another thread of this rank might see it there before we have acquired the data.
    acquire_what_came_along();
    release();
    acquire_what_came_along();
  }
  idle_flushes_of_thread = protocol_->clock() == before ? idle_flushes_of_thread + 1 : 0;
  if (ranks_ > 1 && idle_flushes_of_thread % looks_before_time_passes == looks_before_time_passes - 1) {
    executor().run(protocol_->acquire_clock(protocol_->clock() + settings_.lease_ticks + 1));
  }
  if (idle_flushes_of_thread > looks_before_nap) {
    const timespec nap{0, 50'000};
    ::nanosleep(&nap, nullptr);
  } else if (idle_flushes_of_thread > looks_before_yield) {
    ::sched_yield();
  }
}

AtomicValue JobRuntime::atomic(std::uintptr_t address, const AtomicOperation& operation) {
  const std::optional<BlockId> block = plan_.space.block_at(address);
  if (!block) abort(1, "atomic operation on an address that is not shared");
  const vm::Extent extent = plan_.space.extent(*block);
  const std::size_t offset = address - extent.address;
  if (offset + operation.bytes > extent.bytes) {
    abort(1, "an atomic operation on unaligned memory crosses the end of a block: align the object");
  }
  AtomicModification modification(operation, offset);
  executor().run(protocol_->modify(*block, modification));
  return modification.old();
}

}  // namespace musubi::runtime
