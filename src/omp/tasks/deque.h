// The ready tasks of one thread. The owner adds and takes the newest at the bottom; thieves take the oldest
// at the top. The owner needs no lock unless a thief is about to take its last task; thieves lock, so that
// one may look at the task that it has claimed, and leave it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/spin_lock.h"
#include "omp/tasks/task_record.h"

namespace musubi::omp {

class TaskDeque {
 public:
  static constexpr std::uint32_t capacity = 64;

  // The owner. push: false if it is full.
  bool push(TaskRecord* record) noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);
    if (bottom - top_.load(std::memory_order_acquire) >= capacity) return false;
    records_[bottom % capacity].store(record, std::memory_order_relaxed);
    bottom_.store(bottom + 1, std::memory_order_release);
    return true;
  }
  // The newest task, if it was added at `position` or later; null: none.
  TaskRecord* pop(std::uint64_t position = 0) noexcept;
  // Where the next task is added. Never falls below a position that still has older tasks before it.
  std::uint64_t position() const noexcept { return bottom_.load(std::memory_order_relaxed); }
  std::uint32_t size() const noexcept {
    const std::uint64_t top = top_.load(std::memory_order_relaxed);
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);
    return bottom > top ? static_cast<std::uint32_t>(bottom - top) : 0;
  }
  // Gives all tasks away, oldest first, as if thieves had taken them.
  template <class Take>
  void drain(Take take) noexcept {
    const Held held(thieves_);
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);
    for (std::uint64_t i = top_.load(std::memory_order_relaxed); i < bottom; ++i)
      take(records_[i % capacity].load(std::memory_order_relaxed));
    claimed_.store(bottom, std::memory_order_relaxed);
    top_.store(bottom, std::memory_order_relaxed);
  }

  // Any thread: the oldest task, if `wanted`(record) agrees; null: none. The record may be read there.
  template <class Wanted>
  TaskRecord* steal(Wanted wanted) noexcept {
    if (size() == 0) return nullptr;
    const Held held(thieves_);
    const std::uint64_t top = top_.load(std::memory_order_relaxed);
    claimed_.store(top + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (top + 1 <= bottom_.load(std::memory_order_acquire)) {
      TaskRecord* const record = records_[top % capacity].load(std::memory_order_relaxed);
      if (wanted(*record)) {
        top_.store(top + 1, std::memory_order_release);
        return record;
      }
    }
    claimed_.store(top, std::memory_order_relaxed);
    return nullptr;
  }

 private:
  alignas(64) std::atomic<std::uint64_t> bottom_{0};  // written by the owner
  // Written under the lock. A claim may be given back; the owner takes no claimed task.
  alignas(64) std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> top_{0};
  SpinLock thieves_;
  std::array<std::atomic<TaskRecord*>, capacity> records_{};
};

}  // namespace musubi::omp
