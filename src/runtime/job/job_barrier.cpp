#include "runtime/job/job_barrier.h"

#include <utility>

#include "base/check.h"
#include "coherence/regions.h"
#include "os/clock.h"
#include "os/futex.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::runtime {
namespace {

// Uses the memory of the board, which is unused in one memory.
std::byte* processor_barrier_place(const JobContext& job, JobDevices& devices) {
  if (!job.one_memory || job.ranks == 1) return nullptr;
  MUSUBI_CHECK(sync::Barrier::board_bytes(job.ranks, job.notices_max) >= ProcessorBarrier::bytes);
  return devices.fabric().direct(Rank{0}, coherence::control_region) + job.control.barrier_board;
}

}  // namespace

JobBarrier::JobBarrier(JobContext& job, JobDevices& devices, JobThreads& threads,
                       coherence::Protocol& protocol, sync::FlagOrder& flags)
    : job_(job),
      devices_(devices),
      threads_(threads),
      protocol_(protocol),
      flags_(flags),
      barrier_(devices.fabric(), protocol, job.counters,
               devices.files().control() + job.control.barrier_board, job.control.barrier_board,
               job.notices_max, job.plan.space.blocks_max()),
      processor_barrier_(processor_barrier_place(job, devices), job.ranks),
      objects_(job.plan),
      store_bounds_(objects_) {
  barrier_.set_release_listener(this);
}

void JobBarrier::pass_in_one_memory(BarrierPayload& payload) {
  constexpr std::uint64_t look_again_ns = 100'000'000;
  using Word = std::atomic<std::uint32_t>;
  const Traced traced(Event::barrier, job_.counters.get(trace::Counter::barriers));
  job_.counters.add(trace::Counter::barriers);
  const auto wait = [&](const Word& passages, std::uint32_t value) {
    if (threads_.look_local(&passages, value)) return;
    const Waiting waiting(Wait::peer);
    processor_barrier_.begin_sleep();
    while (passages.load() == value) {
      // A rank in another collective call has sent a message, which this thread does not poll for.
      if (os::futex_wait(passages, value, look_again_ns) == os::FutexOutcome::timed_out)
        devices_.fabric().wake_service();
    }
    processor_barrier_.end_sleep();
  };
  processor_barrier_.pass(job_.self == Rank{0}, payload, wait,
                          [](const Word& passages) { os::futex_wake(passages); });
}

void JobBarrier::pass(BarrierPayload& payload, PollingThread* polling_thread) {
  if (job_.one_memory) return pass_in_one_memory(payload);
  devices_.note_synchronisation(vm::VerifyingVm::Synchronisation::barrier);
  // Threads that the program made itself may run at the same time, and so may its signal handlers on any
  // thread.
  const bool quiescent = threads_.knows_all() && !has_handlers();
  const BlockedHandlers handlers;
  was_quiescent_ = quiescent;
  const Traced traced(Event::barrier, job_.counters.get(trace::Counter::barriers));
  part_ns_ = traced.begin_ns();
  flags_.note_barrier();
  if (polling_thread != nullptr) await_background(quiescent);
  end_alone(quiescent);
  if (flags_.in_use()) threads_.executor().run(flags_.before_barrier(!quiescent));
  kept_ = flags_.kept_locks();
  sync::Barrier::Passage passage(payload, quiescent, quiescent);
  if (!barrier_.pass(passage)) {
    TimeSpent time(job_.counters, trace::Counter::release_ns);
    threads_.executor().run(barrier_.finish(passage));
  }
  others_were_quiescent_ = passage.others_quiescent() && !has_handlers();
  // The job may have begun to keep order during the barrier.
  if (flags_.in_use() || protocol_.ordering().holds_back()) {
    threads_.executor().run(flags_.after_barrier(!quiescent));
  }
  if (polling_thread != nullptr) {
    threads_.activity().leave_barrier();
    polling_thread->note_synchronisation();
  }
  if (part_ns_ != 0) record_event(Event::barrier_acquire, part_ns_, 0);
}

void JobBarrier::pass_last() {
  BarrierPayload nothing{};
  if (job_.one_memory) return pass_in_one_memory(nothing);
  devices_.note_synchronisation(vm::VerifyingVm::Synchronisation::end);
  sync::Barrier::Passage passage = sync::Barrier::Passage::last(nothing);
  const BlockedHandlers handlers;
  if (!barrier_.pass(passage)) threads_.executor().run(barrier_.finish(passage));
}

// Called within pass().
void JobBarrier::on_released() noexcept {
  if (part_ns_ != 0) {
    record_event(Event::barrier_release, part_ns_, 0);
    part_ns_ = os::monotonic_ns();
  }
  threads_.activity().note_release_at_barrier();
  flags_.free(std::exchange(kept_, {}));
  if (listener_ != nullptr) listener_->on_released();
}

// Threads that the program made may be in the middle of an operation.
void JobBarrier::end_alone(bool quiescent) {
  if (quiescent) return flags_.end_alone_at_rest();
  if (flags_.is_alone()) threads_.executor().run(flags_.end_alone());
}

void JobBarrier::await_background(bool quiescent) {
  threads_.activity().enter_barrier(quiescent);
  while (threads_.activity().background_works()) threads_.step_aside();
}

AddressRange JobBarrier::stack_from(const void* address) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const vm::Segment* const segment = job_.plan.space.segment_at(begin);
  if (segment == nullptr || !segment->holds_stacks) return {};
  const std::size_t slot = job_.plan.layout.stack_slot_bytes;
  return {begin, slot - (begin - segment->base) % slot};
}

StoreBound JobBarrier::stores_of(const RegionCode& code, const void* frame) {
  if (!threads_.knows_all() || has_handlers()) return {};
  return store_bounds_.of(
      code.address, {reinterpret_cast<std::uintptr_t>(code.record), stack_from(frame)},
      code.passes == RegionCode::Passes::words ? stores::Passes::words : stores::Passes::address);
}

// A frame is stack memory of the job only if the thread runs on such a stack.
void JobBarrier::begin_region(const StoreBound& stores) {
  const bool knows_all_code = was_quiescent_ && threads_.knows_all() && !has_handlers();
  const bool on_stack = stack_from(__builtin_frame_address(0)).bytes != 0;
  if (knows_all_code && on_stack) protocol_.set_store_bound(stores);
  between_regions_.store(false, std::memory_order_relaxed);
}

void JobBarrier::end_region() {
  protocol_.set_store_bound({});
  between_regions_.store(true, std::memory_order_relaxed);
  if (!others_were_quiescent_) return;
  const DeferredHandlers handlers;
  if (job_.self == Rank{0}) {
    if (!flags_.begin_alone_at_once()) threads_.executor().run(flags_.begin_alone());
  } else if (threads_.has_outsiders()) {  // threads that a library made before main
    threads_.executor().run(flags_.join_lone_rank());
  }
}

}  // namespace musubi::runtime
