// Barriers, locks, flushes and atomic operations of a rank.
#include <algorithm>
#include <cstring>

#include "os/clock.h"
#include "os/sleep.h"
#include "runtime/job_runtime.h"
#include "runtime/time_spent.h"
#include "runtime/tracing.h"
#include "runtime/waiting.h"

namespace musubi::runtime {
namespace {

using trace::Counter;

// Looks by flushes or atomic operations that make a wait.
constexpr std::uint32_t looks_before_wait = 16;

// Flushes in a row that brought nothing and published nothing.
struct IdleFlushes {
  std::uint32_t count = 0;
  std::uint64_t begin_ns = 0;  // of the wait that they have become
  std::uint64_t next_request_ns = 0;
};
constinit thread_local IdleFlushes idle_flushes_of_thread;

// Atomic operations in a row that left the same word as it was: a look for something that does not come.
class Spins {
 public:
  // Result: how many looks there were in a row, this one included.
  std::uint32_t look(std::uintptr_t address, bool unchanged) noexcept {
    constexpr std::uint32_t looks_before_report = 1000;
    if (!unchanged || address != address_) {
      if (count_ > looks_before_report) note_moved();
      count_ = 0;
    }
    address_ = address;
    if (++count_ > looks_before_report) note_spin(Wait::atomic, address);
    return count_;
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
  AtomicModification(const AtomicOperation& operation, std::size_t first) : operation_(operation) {
    offset = first;
    bytes = operation.bytes;
  }
  void apply(std::byte* block) noexcept override {
    std::byte* place = block + offset;
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
  AtomicValue old_ = 0;
};

}  // namespace

void JobRuntime::barrier(BarrierPayload& payload) {
  if (ranks_ == 1) return;
  // Threads that the program made by itself may be at work meanwhile, and signal handlers of the program on
  // any.
  const bool complete = knows_all_threads();
  const bool quiescent = complete && fault_handler_->user_signals().with_handler() == 0;
  barrier_was_quiescent_ = quiescent;
  const Traced traced(Event::barrier, counters_.get(Counter::barriers));
  barrier_part_ns_ = traced.begin_ns();
  enter_barrier(quiescent);
  if (flags_->in_use()) executor().run(flags_->before_barrier(!quiescent));
  sync::Barrier::Passage passage(payload, quiescent, complete);
  const HandlersHeldBack handlers;
  if (!barrier_->pass(passage)) {
    TimeSpent time(counters_, Counter::release_ns);
    executor().run(barrier_->finish(passage));
  }
  // The job may have begun to keep order meanwhile.
  if (flags_->in_use() || protocol_->ordering().holds_back())
    executor().run(flags_->after_barrier(!quiescent));
  leave_barrier();
  if (barrier_part_ns_ != 0) record_event(Event::barrier_acquire, barrier_part_ns_, 0);
}

// Within barrier().
void JobRuntime::on_released() noexcept {
  if (barrier_part_ns_ != 0) {
    record_event(Event::barrier_release, barrier_part_ns_, 0);
    barrier_part_ns_ = os::monotonic_ns();
  }
  if (release_listener_ != nullptr) release_listener_->on_released();
}

void JobRuntime::enter_barrier(bool quiescent) {
  if (keeper_ == nullptr) return;
  stand_.enter_barrier(quiescent);
  while (stand_.background_works()) step_aside();
}

void JobRuntime::leave_barrier() {
  if (keeper_ == nullptr) return;
  stand_.leave_barrier();
  keeper_->note_synchronisation();
}

// A store to a frame is one to a stack only where the threads stand on those of the job.
bool JobRuntime::is_on_stack(const void* address) const noexcept {
  const vm::Segment* const segment = plan_.space.segment_at(reinterpret_cast<std::uintptr_t>(address));
  return segment != nullptr && segment->holds_stacks;
}

void JobRuntime::begin_region(std::uintptr_t function, const void* argument) {
  if (ranks_ == 1) return;
  const bool knows_all_code =
      barrier_was_quiescent_ && knows_all_threads() && fault_handler_->user_signals().with_handler() == 0;
  const bool on_stacks =
      is_on_stack(__builtin_frame_address(0)) && (argument == nullptr || is_on_stack(argument));
  if (knows_all_code && on_stacks) protocol_->set_store_bound(store_bounds_.of(function));
}

void JobRuntime::end_region() {
  if (ranks_ > 1) protocol_->set_store_bound({});
}

void JobRuntime::lock(LockId lock) {
  const Traced traced(Event::lock_wait, lock.value);
  executor().run(locks_->lock(lock));
  show_what_lock_covers();
}
bool JobRuntime::try_lock(LockId lock) {
  const bool taken = executor().run(locks_->try_lock(lock));
  if (taken) show_what_lock_covers();
  return taken;
}
void JobRuntime::show_what_lock_covers() {
  if (!protocol_->ordering().holds_back()) return;
  const sync::Stand::Operation operation = begin_operation();
  executor().run(flags_->acquire(operation.siblings()));
}
void JobRuntime::unlock(LockId lock) {
  const Traced traced(Event::unlock, lock.value);
  if (!flags_->in_use()) return executor().run(flags_->unlock(*locks_, lock, true));
  const sync::Stand::Operation operation = begin_operation();
  executor().run(flags_->unlock(*locks_, lock, operation.siblings()));
}

void JobRuntime::expect_flags() {
  protocol_->ordering().publish_always();
  flags_->expect();
}

void JobRuntime::suspect_flags() {
  if (keeper_ != nullptr) flags_->expect();
}

void JobRuntime::release() {
  if (ranks_ == 1) return;
  const Traced traced(Event::release);
  const sync::Stand::Operation operation = begin_operation();
  executor().run(flags_->release(operation.siblings()));
  if (keeper_ != nullptr) keeper_->note_release();
}
void JobRuntime::acquire() {
  if (ranks_ == 1) return;
  const Traced traced(Event::acquire);
  if (flags_->in_use()) {
    const sync::Stand::Operation operation = begin_operation();
    executor().run(flags_->acquire(operation.siblings()));
  } else {
    executor().run(clock_->acquire());
    // A turn in the background may have held back what came for stacks, and then not begun to keep order.
    executor().run(protocol_->ordering().show_held_back());
  }
}
// A program that waits for a flag flushes until it changes. One flush that finds nothing says little:
// programs flush for other reasons. Many in a row are a wait.
void JobRuntime::flush() {
  constexpr std::uint32_t looks_before_report = 200;
  if (ranks_ > 1) {
    const Traced traced(Event::flush);
    const LogicalTime before = protocol_->clock();
    if (flags_->is_due_to_renew()) executor().run(flags_->renew());
    {
      const sync::Stand::Operation operation = begin_operation();
      executor().run(flags_->flush(operation.siblings()));
    }
    if (keeper_ != nullptr) keeper_->note_synchronisation();
    if (protocol_->clock() != before) idle_flushes_of_thread = {};
  }
  const std::uint32_t idle = ++idle_flushes_of_thread.count;
  idle > looks_before_report ? note_spin(Wait::flag, 0) : note_moved();
  if (idle > looks_before_wait) await_flag();
}

// Whoever is to change the flag needs the processor, and has to be asked if he calls nothing meanwhile; the
// longer the wait, the more rarely. And the change may have been published without a word to others, by an
// atomic operation: time passes for the one who waits, so that what it has read is looked at again.
void JobRuntime::await_flag() {
  constexpr std::uint64_t first_request_ns = 20'000, requests_apart_ns = 1'000'000, first_nap_ns = 5'000'000;
  IdleFlushes& idle = idle_flushes_of_thread;
  const std::uint64_t now_ns = os::monotonic_ns();
  if (idle.begin_ns == 0) {
    idle.begin_ns = now_ns;
    idle.next_request_ns = now_ns + first_request_ns;
  }
  const std::uint64_t waited_ns = now_ns - idle.begin_ns;
  if (ranks_ > 1 && now_ns >= idle.next_request_ns) {
    executor().run(flags_->nudge());
    executor().run(protocol_->acquire_clock(protocol_->clock() + settings_.lease_ticks + 1));
    idle.next_request_ns = now_ns + std::min(std::max(waited_ns, first_request_ns), requests_apart_ns);
  }
  // Where threads outnumber the cores: the one that is to change the flag may wait for this one's.
  if (yields_.load(std::memory_order_relaxed) == 0) return;
  waited_ns < first_nap_ns ? step_aside() : nap();
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
  const Traced traced(Event::atomic, address);
  const vm::Extent extent = plan_.space.extent(*block);
  const std::size_t offset = address - extent.address;
  if (offset + operation.bytes > extent.bytes) {
    abort(1, "an atomic operation on unaligned memory crosses the end of a block: align the object");
  }
  AtomicModification modification(operation, offset);
  if (operation.orders && ranks_ > 1 && flags_->is_due_to_renew()) executor().run(flags_->renew());
  if (flags_->in_use()) {
    const sync::Stand::Operation inside = begin_operation();
    executor().run(flags_->modify(*block, modification, inside.siblings()));
  } else {
    executor().run(flags_->modify(*block, modification, true));
  }
  const AtomicValue old = modification.old();
  const bool unchanged = musubi::apply(operation, old) == (old & mask_of(operation.bytes));
  const std::uint32_t looks = spins_of_thread.look(address, unchanged);
  if (!operation.orders || !flags_->in_use()) return old;
  // The word may be freed by a plain store, of a thread that calls nothing afterwards.
  if (looks == 1) idle_flushes_of_thread = {};
  if (looks > looks_before_wait) await_flag();
  return old;
}

}  // namespace musubi::runtime
