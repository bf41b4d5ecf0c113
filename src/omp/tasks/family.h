// A task as the parent of deferred tasks. Made when a task makes its first one, so that a task which runs at
// once and makes none needs no object; lives until the task and all its descendants have ended.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/frame_pool.h"

namespace musubi::omp {

class DependenceTable;

class Family {
 public:
  // `parent`: of the task around it, or null. `position`: of the deque of the thread that runs the task.
  // Referred to by its task.
  static Family* make(Family* parent, std::uint32_t depth, std::uint64_t position) {
    // No thread waits for tasks that have ended: a chain of them need not stay.
    while (parent != nullptr && parent->ended_.load(std::memory_order_relaxed)) parent = parent->parent;
    if (parent != nullptr) parent->counts_.fetch_add(one_reference, std::memory_order_relaxed);
    return new (frame_allocate(sizeof(Family))) Family(parent, depth, position);
  }

  // A new child, which refers to it.
  void add_child() noexcept { counts_.fetch_add(one_reference + 1, std::memory_order_relaxed); }
  // The end of a child. Result: whether it was the last one and the task waits for it; the caller then rings
  // the arena's bell. The family may be gone.
  [[nodiscard]] bool remove_child() noexcept {
    const std::uint64_t before = counts_.fetch_sub(one_reference + 1, std::memory_order_acq_rel);
    if (before / one_reference == 1) destroy();
    return static_cast<std::uint32_t>(before) == (awaited | 1);
  }
  bool has_unfinished_children() const noexcept {
    return (counts_.load(std::memory_order_acquire) & (awaited - 1)) != 0;
  }
  // By the task: it waits for its children from now on, until stop_waiting().
  void start_waiting() noexcept { counts_.fetch_or(awaited, std::memory_order_seq_cst); }
  void stop_waiting() noexcept { counts_.fetch_and(~std::uint64_t{awaited}, std::memory_order_relaxed); }
  // One more object that needs the family and those around it, or one less.
  void refer() noexcept { counts_.fetch_add(one_reference, std::memory_order_relaxed); }
  void release() noexcept {
    if (drop_reference()) destroy();
  }
  // The end of its task.
  void end() noexcept {
    ended_.store(true, std::memory_order_relaxed);
    release();
  }

  // Whether it is `ancestor` or one of its descendants.
  bool descends_from(const Family& ancestor) const noexcept {
    const Family* family = this;
    while (family != nullptr && family->depth > ancestor.depth) family = family->parent;
    return family == &ancestor;
  }

  Family* const parent;
  const std::uint32_t depth;
  // Tasks that its thread's deque holds from this position on were made by the task or its descendants.
  const std::uint64_t position;
  // Of its children; used by its task alone, which ends it.
  DependenceTable* dependences = nullptr;

 private:
  static constexpr std::uint64_t one_reference = std::uint64_t{1} << 32;
  static constexpr std::uint32_t awaited = 0x8000'0000;

  Family(Family* of_parent, std::uint32_t of_depth, std::uint64_t of_position)
      : parent(of_parent), depth(of_depth), position(of_position) {}
  // Result: whether it was the last one.
  bool drop_reference() noexcept {
    return counts_.fetch_sub(one_reference, std::memory_order_acq_rel) / one_reference == 1;
  }
  void destroy() noexcept {
    Family* family = this;
    do {
      Family* const around = family->parent;
      frame_free(family, sizeof(Family));
      family = around;
    } while (family != nullptr && family->drop_reference());
  }

  std::atomic<bool> ended_{false};
  std::atomic<std::uint64_t> counts_{one_reference};  // references, `awaited`, unfinished children
};

}  // namespace musubi::omp
