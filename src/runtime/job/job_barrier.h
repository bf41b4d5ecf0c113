// The barrier of all ranks as this rank passes it, and the regions of the program between two barriers.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/api/synchronization.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/processor_barrier.h"
#include "runtime/start/address_plan.h"
#include "runtime/threads/polling_thread.h"
#include "stores/store_bounds.h"
#include "sync/barrier.h"
#include "sync/flag_order.h"
#include "sync/lock_table.h"

namespace musubi::runtime {

// The uses of the program's shared memory, for the rules about its stores.
class ProgramObjects final : public stores::MemoryKinds {
 public:
  // `plan` outlives this object.
  explicit ProgramObjects(const AddressPlan& plan) : plan_(plan) {}

  void set_allocations(const Synchronization::Allocations* allocations) { allocations_ = allocations; }

  Kind kind_of(std::uintptr_t address) const noexcept override {
    const vm::Segment* const segment = plan_.space.segment_at(address);
    if (segment == nullptr) return Kind::apart;
    return segment->holds_stacks ? Kind::stack : Kind::shared;
  }
  // Outside the heap: the segment.
  AddressRange allocations_at(std::uintptr_t address) const noexcept override {
    const vm::Segment* const segment = plan_.space.segment_at(address);
    if (segment == nullptr) return {};
    const bool is_heap = plan_.space.index_of(*segment) == plan_.heap_segment;
    if (is_heap && allocations_ != nullptr) return allocations_->allocations_at(address);
    return {segment->base, segment->bytes};
  }

 private:
  const AddressPlan& plan_;
  const Synchronization::Allocations* allocations_ = nullptr;
};

class JobBarrier final : private sync::Barrier::ReleaseListener {
 public:
  JobBarrier(JobContext& job, JobDevices& devices, JobThreads& threads, coherence::Protocol& protocol,
             sync::FlagOrder& flags);
  // The barrier's parts refer to this object.
  JobBarrier(const JobBarrier&) = delete;

  // As Synchronization::barrier, in a job of several ranks. `polling_thread` null: no background thread.
  void pass(BarrierPayload& payload, PollingThread* polling_thread);
  void set_release_listener(Synchronization::ReleaseListener* listener) { listener_ = listener; }
  // As Synchronization::last_barrier, in a job of several ranks.
  void pass_last();

  // The following are as in Synchronization, in a job of several ranks.
  StoreBound stores_of(const RegionCode& code, const void* frame);
  void set_allocations(const Synchronization::Allocations* allocations) {
    objects_.set_allocations(allocations);
  }
  void begin_region(const StoreBound& stores);
  void end_region();
  bool is_between_regions() const noexcept { return between_regions_.load(); }

 private:
  void on_released() noexcept override;
  bool has_handlers() const noexcept { return devices_.fault_handler().user_signals().with_handler() != 0; }
  // From `address` to the end of the job's stack that contains it; empty if none does.
  AddressRange stack_from(const void* address) const noexcept;
  void end_alone(bool quiescent);
  void await_background(bool quiescent);
  void pass_in_one_memory(BarrierPayload& payload);

  JobContext& job_;
  JobDevices& devices_;
  JobThreads& threads_;
  coherence::Protocol& protocol_;
  sync::FlagOrder& flags_;
  sync::Barrier barrier_;
  ProcessorBarrier processor_barrier_;  // used instead in one memory
  Synchronization::ReleaseListener* listener_ = nullptr;
  ProgramObjects objects_;
  stores::StoreBounds store_bounds_;
  sync::LockTable::Kept kept_;         // from before the release in progress
  bool was_quiescent_ = false;         // at the last barrier, for the thread that called it
  bool others_were_quiescent_ = true;  // at the last barrier, all ranks but 0
  std::atomic<bool> between_regions_{false};
  std::uint64_t part_ns_ = 0;  // begin of the current part of a barrier; 0: not traced
};

}  // namespace musubi::runtime
