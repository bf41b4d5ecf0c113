#include "runtime/threads/started_tasks.h"

#include <utility>

#include "base/check.h"

namespace musubi::runtime {

StartedTasks::Handle StartedTasks::start(Task<> task) {
  executor_.start(task);
  if (task.done()) return 0;
  if (free_.empty()) {
    MUSUBI_CHECK(slots_.size() < std::size_t{1} << slot_bits, "too many operations under way in one thread");
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  slots_[index].task.emplace(std::move(task));
  return Handle{slots_[index].generation} << slot_bits | index;
}

StartedTasks::Slot* StartedTasks::find(Handle handle) {
  const auto index = static_cast<std::size_t>(handle) & ((std::size_t{1} << slot_bits) - 1);
  if (handle <= 0 || index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.task && slot.generation == handle >> slot_bits ? &slot : nullptr;
}

void StartedTasks::let_go(Slot& slot) {
  slot.task.reset();
  ++slot.generation;
  free_.push_back(static_cast<std::uint32_t>(&slot - slots_.data()));
}

StartedTasks::State StartedTasks::test(Handle handle) {
  if (handle == 0) return State::done;
  Slot* const slot = find(handle);
  if (slot == nullptr) return State::unknown;
  if (!slot->task->done()) executor_.poll();
  if (!slot->task->done()) return State::under_way;
  let_go(*slot);
  return State::done;
}

StartedTasks::State StartedTasks::wait(Handle handle) {
  if (handle == 0) return State::done;
  Slot* const slot = find(handle);
  if (slot == nullptr) return State::unknown;
  executor_.finish(*slot->task);
  let_go(*slot);
  return State::done;
}

void StartedTasks::wait_for_all() {
  for (Slot& slot : slots_) {
    if (!slot.task) continue;
    executor_.finish(*slot.task);
    let_go(slot);
  }
}

}  // namespace musubi::runtime
