#include "runtime/job/faults.h"

#include <algorithm>

#include "runtime/threads/tracing.h"

namespace musubi::runtime {

bool Faults::on_fault(const vm::Fault& fault) noexcept {
  const BlockId block = fault.block;
  const vm::Space& space = job_.plan.space;
  const vm::Segment& stacks = space.segments()[job_.plan.stacks_segment];
  const bool in_stacks = block.value - stacks.first_block.value < stacks.blocks;
  // A stack of this rank is pinned: a fault there hit a guard, or an unused slot.
  if (in_stacks && space.initial_home(block) == job_.self) return false;
  TimeSpent time(job_.counters, trace::Counter::fault_ns);
  const Traced traced(fault.wanted == vm::Access::write ? Event::write_fault : Event::read_fault,
                      fault.address);
  watch_memory(block);
  const coherence::Touch touch{fault.wanted, fault.address};
  JobThreads::Entry executor = threads_->executor();
  if (!flags_->in_use()) return executor.run(flags_->fault(block, touch, true));
  const JobThreads::Operation operation = threads_->begin_operation();
  return executor.run(flags_->fault(block, touch, operation.siblings()));
}

void Faults::watch_memory(BlockId block) noexcept {
  room_->before_opening(std::max(job_.plan.space.segment_of(block).block_bytes, run_bytes_max_));
}

bool Faults::may_execute(BlockId block) noexcept {
  const vm::Space& space = job_.plan.space;
  return words_->code_may_run(space.index_of(space.segment_of(block)));
}

}  // namespace musubi::runtime
