// Resolves a fault of the user view: the protocol fetches the block, on the faulting thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/job/job_context.h"
#include "runtime/job/job_fabric.h"
#include "runtime/job/job_room.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/job_words.h"
#include "runtime/job/verification.h"
#include "runtime/threads/tracing.h"
#include "sync/flag_order.h"
#include "vm/vm.h"

namespace musubi::runtime {

class Faults final : public vm::FaultSink {
 public:
  explicit Faults(JobContext& job) : job_(job) {}

  // Call before the first fault: the drivers need their sink before the protocol exists. `verification` may
  // be null.
  void resolve_by(sync::FlagOrder& flags, JobThreads& threads, JobWords& words, JobRoom& room,
                  Verification* verification) noexcept {
    verification_ = verification;
    flags_ = &flags;
    threads_ = &threads;
    words_ = &words;
    room_ = &room;
    run_bytes_max_ = std::max<std::size_t>(job_.settings.run_bytes_max, far_run_bytes_max(job_));
  }

  bool on_fault(const vm::Fault& fault) noexcept override {
    const BlockId block = fault.block;
    const vm::Space& space = job_.plan.space;
    const vm::Segment& stacks = space.segments()[job_.plan.stacks_segment];
    const bool in_stacks = block.value - stacks.first_block.value < stacks.blocks;
    // A stack of this rank is pinned: a fault there hit a guard, or an unused slot.
    if (in_stacks && space.initial_home(block) == job_.self) return false;
    job_.counters.add(trace::Counter::fault_signals);
    // Threads that may come later do not count: a program of threads expects some all the time. Where order
    // is kept, each look at closed memory may acquire, and close what a check has opened.
    if (verification_ != nullptr &&
        verification_->resolves(fault, threads_->runs_several() || flags_->in_use()))
      return true;
    TimeSpent time(job_.counters, trace::Counter::fault_ns);
    const Traced traced(fault.wanted == vm::Access::write ? Event::write_fault : Event::read_fault,
                        fault.address);
    room_->before_opening(std::max(space.segment_of(block).block_bytes, run_bytes_max_));
    const coherence::Touch touch{fault.wanted, fault.address};
    JobThreads::Entry executor = threads_->executor();
    if (!flags_->in_use()) return executor.run(flags_->fault(block, touch, true));
    const JobThreads::Operation operation = threads_->begin_operation();
    return executor.run(flags_->fault(block, touch, operation.siblings()));
  }
  bool may_execute(BlockId block) noexcept override {
    const vm::Space& space = job_.plan.space;
    return words_->code_may_run(space.index_of(space.segment_of(block)));
  }

 private:
  JobContext& job_;
  sync::FlagOrder* flags_ = nullptr;
  JobThreads* threads_ = nullptr;
  JobWords* words_ = nullptr;
  JobRoom* room_ = nullptr;
  Verification* verification_ = nullptr;
  std::size_t run_bytes_max_ = 0;
};

}  // namespace musubi::runtime
