// Order among the tasks of one parent by `depend` clauses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/frame_pool.h"
#include "base/spin_lock.h"
#include "omp/tasks/task_record.h"

namespace musubi::omp {

// A mutexinoutset is an `out`: tasks of such a set run in the order of their creation.
enum class DependenceKind : std::uint8_t { in, out, inoutset };

struct Dependence {
  std::uintptr_t address;  // all_memory: of all variables, kind out
  DependenceKind kind;

  static constexpr std::uintptr_t all_memory = 0;
};

// A task as its successors and the table of its parent know it: outlives the task as long as they refer to
// it.
class DependenceNode {
 public:
  // With one reference, the task's.
  static DependenceNode* make() { return new (frame_allocate(sizeof(DependenceNode))) DependenceNode; }
  DependenceNode* refer() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  void drop_reference() noexcept;

  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  // One predecessor more for `record`, unless the task has ended.
  void add_successor(TaskRecord& record);
  // The task has ended: calls ready(record) for each successor that waits for no other task.
  template <class Ready>
  void end(Ready ready) {
    {
      const Held held(lock_);
      ended_.store(true, std::memory_order_release);
    }
    for (TaskRecord* record : successors_) {
      if (record->predecessors.fetch_sub(1, std::memory_order_acq_rel) == 1) ready(*record);
    }
  }

 private:
  SpinLock lock_;
  std::atomic<bool> ended_{false};
  std::atomic<std::uint32_t> references_{1};
  std::vector<TaskRecord*, FrameAllocator<TaskRecord*>> successors_;  // fixed once it has ended
};

// The last tasks with dependences of one parent, by address. Used by the parent alone.
class DependenceTable {
 public:
  static DependenceTable* make() { return new (frame_allocate(sizeof(DependenceTable))) DependenceTable; }
  void destroy() noexcept;

  // Whether a new task with these dependences waits for none of the earlier ones.
  bool is_free(std::span<const Dependence> dependences) const noexcept;
  // Counts the predecessors of a new task in `record`, and enters it by record.node, which may be null for a
  // task without successors: its creator waits for it.
  void add(TaskRecord& record, std::span<const Dependence> dependences);

 private:
  using Nodes = std::vector<DependenceNode*, FrameAllocator<DependenceNode*>>;
  // Tasks that may run at the same time, and the ones before them, for which they wait.
  struct Entry {
    std::uintptr_t address = 0;
    DependenceKind kind = DependenceKind::in;
    Nodes current;
    Nodes before;
  };

  DependenceTable() = default;
  ~DependenceTable() = default;
  Entry* find(std::uintptr_t address) const noexcept;
  Entry& at(std::uintptr_t address);
  void grow();
  void add_to(Entry& entry, TaskRecord& record, DependenceKind kind);
  void add_after_all(TaskRecord& record);
  void forget_all() noexcept;

  mutable std::vector<Entry, FrameAllocator<Entry>> entries_;  // open addressing; a power of two
  std::size_t used_ = 0;
  DependenceNode* all_memory_ = nullptr;  // the last task that depends on all; before every entry
};

}  // namespace musubi::omp
