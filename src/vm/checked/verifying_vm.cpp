#include "vm/checked/verifying_vm.h"

#include <algorithm>

namespace musubi::vm {

void VerifyingVm::open_read(BlockRun run) noexcept {
  change(run, &Vm::open_read, Access::read);
}
void VerifyingVm::open_write(BlockRun run) noexcept {
  change(run, &Vm::open_write, Access::write);
}
void VerifyingVm::upgrade(BlockRun run) noexcept {
  change(run, &Vm::upgrade, Access::write);
}
void VerifyingVm::downgrade(BlockRun run) noexcept {
  change(run, &Vm::downgrade, Access::read);
}
void VerifyingVm::close(BlockRun run) noexcept {
  change(run, &Vm::close, Access::none);
}
void VerifyingVm::leave_open(BlockRun run) noexcept {
  pages_.leave_open(run);
}

// The pages are as the protocol has them when its operation begins.
void VerifyingVm::change(BlockRun run, Operation operation, Access access) noexcept {
  const Held hold(lock_);
  reveal_run(run, Access::write);
  (pages_.*operation)(run);
  for (std::uint64_t i = 0; i < run.count; ++i) {
    const BlockId block{run.first.value + i};
    State& state = states_[block.value];
    state.access = access;
    state.shown = access;
    if (access != Access::none) note_open(block, state);
    if (shows_ == Shows::what_is_touched) hide_untouched(block, state);
  }
}

void VerifyingVm::hide_untouched(BlockId block, State& state) noexcept {
  if (state.shown <= state.touched || space_.segment_of(block).holds_stacks) return;
  state.touched == Access::read ? pages_.downgrade({block}) : pages_.close({block});
  state.shown = state.touched;
}

void VerifyingVm::note_open(BlockId block, State& state) noexcept {
  state.open_in_turn = state.turn == turn_ ? std::max(state.open_in_turn, state.shown) : state.shown;
  state.turn = turn_;
  if (state.first_turn == 0) state.first_turn = turn_;
  if (state.is_listed || space_.segment_of(block).holds_stacks) return;
  state.is_listed = true;
  open_[opened_++] = block.value;
}

bool VerifyingVm::reveal_run(BlockRun run, Access wanted) noexcept {
  bool found = false;
  for (std::uint64_t i = 0; i < run.count; ++i) {
    const BlockId block{run.first.value + i};
    State& state = states_[block.value];
    const Access shown = std::min(state.access, wanted);
    if (state.shown >= shown) continue;
    found = true;
    if (state.shown == Access::read) {
      pages_.upgrade({block});
    } else if (shown == Access::write) {
      pages_.open_write({block});
    } else {
      pages_.open_read({block});
    }
    state.shown = shown;
    note_open(block, state);
  }
  return found;
}

void VerifyingVm::synchronised() noexcept {
  {
    const Held hold(lock_);
    if (++synchronisations_ > always_hides && synchronisations_ % hides_each != 0) return;
  }
  hide();
}

void VerifyingVm::hide() noexcept {
  const Held hold(lock_);
  for (std::size_t i = 0; i < opened_; ++i) {
    const BlockId block{open_[i]};
    State& state = states_[block.value];
    state.is_listed = false;
    state.touched = Access::none;
    if (state.shown == Access::none) continue;
    pages_.close({block});
    state.shown = Access::none;
  }
  opened_ = 0;
  ++turn_;
}

bool VerifyingVm::reveal(AddressRange range, Access wanted) noexcept {
  bool found = false;
  for (std::uintptr_t at = range.begin; at < range.begin + range.bytes;) {
    const Segment* const segment = space_.segment_around(at);
    if (segment == nullptr) break;
    const std::uint64_t offset = at - segment->base;
    const std::uint64_t block = offset / segment->block_bytes;
    const BlockId id{segment->first_block.value + block};
    const Held hold(lock_);
    found = reveal_run({id}, wanted) || found;
    State& state = states_[id.value];
    state.touched = std::max(state.touched, std::min(state.access, wanted));
    at = segment->base + (block + 1) * segment->block_bytes;
  }
  return found;
}

void VerifyingVm::expect_stores(BlockId block) noexcept {
  const Held hold(lock_);
  states_[block.value].touched = Access::none;
  pages_.open_stores({block});
}

Access VerifyingVm::touched(BlockId block) const noexcept {
  const Held hold(lock_);
  return states_[block.value].touched;
}

bool VerifyingVm::may_be_checked(BlockId block, Access wanted) const noexcept {
  const Held hold(lock_);
  const State& state = states_[block.value];
  const bool is_new = state.first_turn == 0 || state.first_turn == turn_;
  return is_new || (state.turn == turn_ && state.open_in_turn >= wanted);
}

}  // namespace musubi::vm
