#include "sync/openings.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace musubi::sync {
namespace {

// Finds the runs of blocks in a range, one after the other, each in one segment.
class RunsOfRange {
 public:
  RunsOfRange(const vm::Space& space, AddressRange range) : space_(space), range_(range) {}

  // Result: none is left.
  std::optional<vm::BlockRun> next() {
    while (range_.bytes != 0) {
      const vm::Segment* const segment = space_.segment_around(range_.begin);
      if (segment == nullptr) return std::nullopt;
      const std::size_t inside = std::min(range_.bytes, segment->base + segment->bytes - range_.begin);
      const std::uint64_t first = (range_.begin - segment->base) / segment->block_bytes;
      const std::uint64_t last = (range_.begin + inside - 1 - segment->base) / segment->block_bytes;
      const bool used = vm::is_in_use(*segment, first);
      std::uint64_t end = first + 1;
      while (end <= last && vm::is_in_use(*segment, end) == used) ++end;
      pass(std::min(inside, segment->base + end * segment->block_bytes - range_.begin));
      if (used) return vm::BlockRun{BlockId{segment->first_block.value + first}, end - first};
    }
    return std::nullopt;
  }

 private:
  void pass(std::size_t bytes) {
    range_.begin += bytes;
    range_.bytes -= bytes;
  }

  const vm::Space& space_;
  AddressRange range_;
};

}  // namespace

// Each task may have the rank keep order, and acquire, next to the others: to it they are siblings.
Task<> Openings::open(std::span<const AddressRange> ranges, vm::Access wanted, bool siblings) {
  if (flags_.in_use() && !siblings) co_await flags_.settle();
  TaskGroup under_way(window_);
  for (const AddressRange& range : ranges) co_await open_into(under_way, range, wanted, ranges.size() == 1);
  co_await under_way.drain();
}

// One range shorter than a run says nothing about the blocks after it: a loop may name one piece after the
// other, so the policy may follow a stream, as it does at faults.
Task<> Openings::open_into(TaskGroup& under_way, AddressRange range, vm::Access wanted, bool alone) {
  RunsOfRange runs(space_, range);
  while (const std::optional<vm::BlockRun> run = runs.next()) {
    const std::size_t block_bytes = space_.segment_of(run->first).block_bytes;
    const std::uint64_t most = std::max<std::uint64_t>(1, run_bytes_ / block_bytes);
    for (std::uint64_t i = 0; i < run->count;) {
      const vm::BlockRun part{BlockId{run->first.value + i}, std::min(most, run->count - i)};
      const bool begins_open = !needs_opening(part.first, wanted);
      if (!begins_open) co_await under_way.admit(open_run(part, wanted, alone && run->count < most));
      i += begins_open ? 1 : part.count;
    }
  }
}

// Stacks of this rank are open, or guards, or slots that no thread has.
bool Openings::needs_opening(BlockId block, vm::Access wanted) const {
  if (states_ != nullptr && states_->allows(block, wanted)) return false;
  return !space_.segment_of(block).holds_stacks || space_.initial_home(block) != self_;
}

bool Openings::is_open(AddressRange range, vm::Access wanted) const {
  RunsOfRange runs(space_, range);
  while (const std::optional<vm::BlockRun> run = runs.next()) {
    for (std::uint64_t i = 0; i < run->count; ++i) {
      if (needs_opening(BlockId{run->first.value + i}, wanted)) return false;
    }
  }
  return true;
}

// A fault of the first block brings the rest of the run, as far as it can: then the others are open.
Task<> Openings::open_run(vm::BlockRun run, vm::Access wanted, bool may_guess) {
  for (std::uint64_t i = 0; i < run.count; ++i) {
    const BlockId block{run.first.value + i};
    if (!needs_opening(block, wanted)) continue;
    const coherence::Touch touch{wanted, space_.extent(block).address,
                                 static_cast<std::uint32_t>(run.count - i), !may_guess};
    (void)co_await flags_.fault(block, touch, true);
  }
}

// Those of `run` that lie wholly inside the range.
vm::BlockRun Openings::whole_blocks(vm::BlockRun run, AddressRange range) const {
  if (hooks_.injected(InjectedBug::overwritten_in_part)) return run;
  const vm::Extent first = space_.extent(run.first);
  if (first.address < range.begin) run = {BlockId{run.first.value + 1}, run.count - 1};
  if (run.count == 0) return run;
  const vm::Extent last = space_.extent(BlockId{run.first.value + run.count - 1});
  if (last.address + last.bytes > range.begin + range.bytes) --run.count;
  return run;
}

Task<> Openings::overwrite(AddressRange range, bool siblings) {
  RunsOfRange runs(space_, range);
  while (const std::optional<vm::BlockRun> run = runs.next()) {
    const vm::BlockRun whole = whole_blocks(*run, range);
    const bool holds_stacks = space_.segment_of(run->first).holds_stacks;
    if (whole.count != 0 && !holds_stacks && !flags_.in_use()) co_await protocol_.overwrite(whole);
  }
  co_await open({&range, 1}, vm::Access::write, siblings);
}

Task<> Openings::open_for_stores(AddressRange range, bool siblings) {
  RunsOfRange runs(space_, range);
  bool all = !flags_.in_use();
  for (std::optional<vm::BlockRun> run; all && (run = runs.next());) {
    for (std::uint64_t i = 0; all && i < run->count; ++i)
      all = co_await protocol_.open_for_stores(BlockId{run->first.value + i});
  }
  if (!all) co_await open({&range, 1}, vm::Access::write, siblings);
}

Task<> Openings::written(AddressRange range) {
  RunsOfRange runs(space_, range);
  while (const std::optional<vm::BlockRun> run = runs.next()) co_await protocol_.written(*run);
}

}  // namespace musubi::sync
