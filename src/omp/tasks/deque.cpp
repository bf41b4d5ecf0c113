#include "omp/tasks/deque.h"

namespace musubi::omp {

TaskRecord* TaskDeque::pop(std::uint64_t position) noexcept {
  const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);
  if (bottom <= position) return nullptr;
  if (top_.load(std::memory_order_relaxed) >= bottom) return nullptr;
  const std::uint64_t newest = bottom - 1;
  bottom_.store(newest, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (claimed_.load(std::memory_order_relaxed) > newest) {
    // A thief claims this task, and may give it back before it unlocks.
    bottom_.store(bottom, std::memory_order_relaxed);
    const Held held(thieves_);
    if (claimed_.load(std::memory_order_relaxed) > newest) return nullptr;
    bottom_.store(newest, std::memory_order_relaxed);
  }
  return records_[newest % capacity].load(std::memory_order_relaxed);
}

}  // namespace musubi::omp
