// Barriers, locks, flushes and atomic operations of a rank.
#include <cstring>

#include "os/clock.h"
#include "os/sleep.h"
#include "runtime/job_runtime.h"
#include "runtime/time_spent.h"
#include "runtime/waiting.h"

namespace musubi::runtime {
namespace {

using trace::Counter;

// Flushes in a row that brought nothing and published nothing.
constinit thread_local std::uint32_t idle_flushes_of_thread = 0;

// Atomic operations in a row that left the same word as it was: a look for something that does not come.
class Spins {
 public:
  void look(std::uintptr_t address, bool unchanged) noexcept {
    constexpr std::uint32_t looks_before_wait = 1000;
    if (!unchanged || address != address_) {
      if (count_ > looks_before_wait) note_moved();
      count_ = 0;
    }
    address_ = address;
    if (++count_ > looks_before_wait) note_spin(Wait::atomic, address);
  }

 private:
  std::uintptr_t address_ = 0;
  std::uint32_t count_ = 0;
};
constinit thread_local Spins spins_of_thread;

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

void nap() noexcept {
  os::sleep_ns(50'000);
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
  const bool in_order = flags_->in_use();
  // Threads that the program made by itself may be at work meanwhile, and signal handlers of the program on
  // any.
  const bool complete = knows_all_threads();
  const bool quiescent = complete && fault_handler_->user_signals().with_handler() == 0;
  if (in_order) executor().run(flags_->before_barrier(!quiescent));
  sync::Barrier::Passage passage(payload, quiescent, complete);
  const HandlersHeldBack handlers;
  if (!barrier_->pass(passage)) {
    TimeSpent time(counters_, Counter::release_ns);
    executor().run(barrier_->finish(passage));
  }
  if (in_order) executor().run(flags_->after_barrier(!quiescent));
}

void JobRuntime::lock(LockId lock) {
  executor().run(locks_->lock(lock));
}
bool JobRuntime::try_lock(LockId lock) {
  return executor().run(locks_->try_lock(lock));
}
void JobRuntime::unlock(LockId lock) {
  if (!flags_->in_use()) return executor().run(locks_->unlock(lock));
  const LoneThread::Operation operation = begin_operation();
  executor().run(flags_->unlock(*locks_, lock, operation.siblings()));
}

void JobRuntime::expect_flags() {
  protocol_->publish_always();
  flags_->expect();
}

void JobRuntime::release() {
  if (ranks_ == 1) return;
  const LoneThread::Operation operation = begin_operation();
  executor().run(flags_->release(operation.siblings()));
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
  if (ranks_ > 1) {
    const LoneThread::Operation operation = begin_operation();
    executor().run(flags_->flush(operation.siblings()));
    if (!operation.siblings() && protocol_->clock() == before) await_clock();
  }
  idle_flushes_of_thread = protocol_->clock() == before ? idle_flushes_of_thread + 1 : 0;
  idle_flushes_of_thread > looks_before_nap ? note_spin(Wait::flag, 0) : note_moved();
  if (ranks_ > 1 && idle_flushes_of_thread % looks_before_time_passes == looks_before_time_passes - 1) {
    executor().run(protocol_->acquire_clock(protocol_->clock() + settings_.lease_ticks + 1));
  }
  if (idle_flushes_of_thread <= looks_before_yield) return;
  idle_flushes_of_thread <= looks_before_nap ? step_aside() : nap();
}

// Only others can change what the program waits for: that is cheaper than the program's next flush, which
// compares all that is writable here.
void JobRuntime::await_clock() {
  constexpr std::uint64_t longest_ns = 100'000;
  const std::uint64_t begin = os::monotonic_ns();
  do {
    const bool moved = executor().run(clock_->has_moved());
    if (moved) return executor().run(flags_->acquire(false));
    step_aside();
  } while (os::monotonic_ns() - begin < longest_ns);
}

// Lets others have the core, for a moment.
void JobRuntime::step_aside() {
  if (yield_meter_.allowed(1) != 0) {
    yield_meter_.yield();
  } else {
    nap();
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
  if (flags_->in_use()) {
    const LoneThread::Operation inside = begin_operation();
    executor().run(flags_->modify(*block, modification, inside.siblings()));
  } else {
    executor().run(protocol_->modify(*block, modification));
  }
  const AtomicValue old = modification.old();
  spins_of_thread.look(address, musubi::apply(operation, old) == (old & mask_of(operation.bytes)));
  return old;
}

}  // namespace musubi::runtime
