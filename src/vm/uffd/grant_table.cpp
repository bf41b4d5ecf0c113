#include "vm/uffd/grant_table.h"

#include <sched.h>

namespace musubi::vm {
namespace {

// Waits while a holder has the cell.
template <class Cell, class Change>
void change_when_free(std::atomic_ref<Cell> cell, Cell held, Change&& changed) {
  Cell now = cell.load(std::memory_order_relaxed);
  for (;;) {
    if ((now & held) != 0) {
      ::sched_yield();  // the holder is inside the kernel
      now = cell.load(std::memory_order_relaxed);
    } else if (cell.compare_exchange_weak(now, changed(now), std::memory_order_acq_rel)) {
      return;
    }
  }
}

}  // namespace

void GrantTable::change(BlockRun run, Access from_least, Access from_most, Cell to) noexcept {
  for (std::uint64_t block = run.first.value; block < run.first.value + run.count; ++block) {
    change_when_free(cell(BlockId{block}), held, [&](Cell now) {
      MUSUBI_CHECK(static_cast<Cell>(from_least) <= now && now <= static_cast<Cell>(from_most),
                   "block %lu has access %d and was to be given %d", static_cast<unsigned long>(block), now,
                   to);
      return to;
    });
  }
}

void GrantTable::grant(BlockRun run, Access from_least, Access from_most, Access to) noexcept {
  change(run, from_least, from_most, static_cast<Cell>(to));
}

void GrantTable::leave_open(BlockRun run) noexcept {
  change(run, Access::none, Access::none, left_open);
}

bool GrantTable::is_left_open(BlockId block) const noexcept {
  return cell(block).load(std::memory_order_relaxed) == left_open;
}

std::optional<Access> GrantTable::hold(BlockId block, Access wanted) noexcept {
  const auto here = cell(block);
  Cell now = here.load(std::memory_order_relaxed);
  for (;;) {
    const Cell granted = now & static_cast<Cell>(~held);
    if (granted == left_open || granted < static_cast<Cell>(wanted)) return std::nullopt;
    if ((now & held) != 0) {
      ::sched_yield();
      now = here.load(std::memory_order_relaxed);
    } else if (here.compare_exchange_weak(now, now | held, std::memory_order_acq_rel)) {
      return static_cast<Access>(granted);
    }
  }
}

void GrantTable::release(BlockId block) noexcept {
  cell(block).fetch_and(static_cast<Cell>(~held), std::memory_order_release);
}

}  // namespace musubi::vm
