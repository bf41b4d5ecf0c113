#include "omp/tasks/task_arena.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/frame_pool.h"

namespace musubi::omp {

void TaskArena::open(std::uint32_t seats, std::uint32_t near_root) {
  if (seats > seats_made_) {
    const std::uint32_t made = std::max(seats, 2 * seats_made_);
    auto** const more = static_cast<TaskSeat**>(frame_allocate(made * sizeof(TaskSeat*)));
    if (seats_ != nullptr) {
      std::memcpy(more, seats_, seats_made_ * sizeof(TaskSeat*));
      frame_free(seats_, seats_made_ * sizeof(TaskSeat*));
    }
    for (std::uint32_t i = seats_made_; i < made; ++i) {
      // Whole lines: the pool aligns to 16 bytes.
      auto place = reinterpret_cast<std::uintptr_t>(frame_allocate(sizeof(TaskSeat) + alignof(TaskSeat)));
      place = (place + alignof(TaskSeat) - 1) & ~(alignof(TaskSeat) - 1);
      more[i] = new (reinterpret_cast<void*>(place)) TaskSeat{this, i, i + 1, {}};
    }
    seats_ = more;
    seats_made_ = made;
  }
  seat_count_ = seats;
  near_root_ = near_root;
}

void TaskArena::close() noexcept {
  opening_.fetch_add(1);
  while (helpers_.load() != 0) ::sched_yield();
}

void TaskArena::put(TaskSeat* own, TaskRecord& record) noexcept {
  if (own == nullptr || record.priority > 0 || !own->deque.push(&record)) put_common(record);
  bell_.ring();
  if (other_ranks != nullptr && own != nullptr) other_ranks->note_surplus();
}

TaskRecord* TaskArena::find(TaskSeat& own, const Family* within) noexcept {
  const bool common = common_count_.load(std::memory_order_acquire) != 0;
  if (common && common_priority_.load(std::memory_order_relaxed) > 0) {
    if (TaskRecord* record = take_common(within, 1)) return record;
  }
  if (TaskRecord* record = own.deque.pop(within != nullptr ? within->position : 0)) return record;
  if (common) {
    if (TaskRecord* record = take_common(within, 0)) return record;
  }
  const auto wanted = [within](const TaskRecord& record) {
    return within == nullptr || record.parent->descends_from(*within);
  };
  for (std::uint32_t i = 0; i < seat_count_; ++i) {
    if (own.next_victim >= seat_count_) own.next_victim = 0;
    // A victim that had a task is asked first the next time.
    TaskSeat& victim = *seats_[own.next_victim];
    if (&victim != &own) {
      if (TaskRecord* record = victim.deque.steal(wanted)) return record;
    }
    ++own.next_victim;
  }
  return nullptr;
}

void TaskArena::give_up_deque(TaskSeat& own) noexcept {
  if (own.deque.size() == 0) return;
  own.deque.drain([this](TaskRecord* record) { put_common(*record); });
  bell_.ring();
}

void TaskArena::put_common(TaskRecord& record) noexcept {
  const Held held(common_lock_);
  TaskRecord** place = &common_;
  while (*place != nullptr && (*place)->priority > record.priority) place = &(*place)->next;
  record.next = *place;
  *place = &record;
  common_priority_.store(common_->priority, std::memory_order_relaxed);
  common_count_.fetch_add(1, std::memory_order_release);
}

TaskRecord* TaskArena::take_common(const Family* within, std::int32_t priority_least) noexcept {
  const Held held(common_lock_);
  for (TaskRecord** place = &common_; *place != nullptr; place = &(*place)->next) {
    if ((*place)->priority < priority_least) return nullptr;
    if (within == nullptr || (*place)->parent->descends_from(*within)) return remove_common(place);
  }
  return nullptr;
}

TaskRecord* TaskArena::remove_common(TaskRecord** place) noexcept {
  TaskRecord* const record = *place;
  *place = record->next;
  common_priority_.store(common_ == nullptr ? 0 : common_->priority, std::memory_order_relaxed);
  common_count_.fetch_sub(1, std::memory_order_relaxed);
  return record;
}

void TaskArena::post(TaskEvent& event) noexcept {
  event.next = posted_.load(std::memory_order_relaxed);
  while (!posted_.compare_exchange_weak(event.next, &event)) {
  }
  bell_.ring();
}

std::uint32_t TaskArena::ready() const noexcept {
  std::uint32_t count = common_count_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < seat_count_; ++i) count += seats_[i]->deque.size();
  return count;
}

}  // namespace musubi::omp
