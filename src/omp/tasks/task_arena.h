// The ready tasks of a team on one rank: a deque for each member, and a common queue for tasks that have a
// priority, that found their deque full, or that no member made ready. Waits only on words of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/spin_lock.h"
#include "omp/tasks/bell.h"
#include "omp/tasks/deque.h"
#include "omp/tasks/family.h"
#include "omp/tasks/task_event.h"
#include "omp/tasks/task_group.h"
#include "omp/tasks/task_record.h"

namespace musubi::omp {

class TaskArena;

// A member's place in its arena.
struct alignas(64) TaskSeat {
  TaskArena* arena;
  std::uint32_t number;
  std::uint32_t next_victim;
  TaskDeque deque;
};

// The tasks of other ranks, as the waiting threads of a rank see them.
class OtherRanks {
 public:
  // A thread that found no task in its rank sleeps until the arena's bell rings, and no longer. `within`: see
  // TaskArena::find.
  virtual void wait_begins(const Family* within) noexcept = 0;
  virtual void wait_ends(const Family* within) noexcept = 0;
  // Around a foreign task's function, unless it came back. `ns`: on its processor.
  virtual void foreign_work_begins() noexcept = 0;
  virtual void foreign_work_ends(std::uint64_t ns) noexcept = 0;
  // A foreign record's function has returned, and its data are freed; it is about to leave its group.
  virtual void foreign_task_ended(TaskRecord& record) noexcept = 0;
  // The last task of a group of kind subtree has ended. The group is the implementation's.
  virtual void subtree_ended(TaskGroup& group) noexcept = 0;
  // This rank has more ready tasks than hungry threads: called by a member that has just put one.
  virtual void note_surplus() noexcept = 0;

 protected:
  ~OtherRanks() = default;
};

class TaskArena {
 public:
  // A thread defers a task only while its deque holds fewer; more while this rank leaves foreign work, which
  // another one is about to take.
  static constexpr std::uint32_t deferred_max = 8, left_max = TaskDeque::capacity;

  explicit TaskArena(runtime::Threads* threads) : bell_(threads) {}
  TaskArena(const TaskArena&) = delete;
  TaskArena& operator=(const TaskArena&) = delete;

  // While no task exists and no member works. `near_root`: tasks up to that depth are deferred even if no
  // thread is hungry; 0: none.
  void open(std::uint32_t seats, std::uint32_t near_root);
  // After the last task has ended: waits for helpers that still look for one.
  void close() noexcept;
  // Numbers the times from open() to close().
  std::uint32_t opening() const noexcept { return opening_.load(); }
  // A member that may look for tasks though the region can end in that time.
  class Helper {
   public:
    explicit Helper(TaskArena& arena) noexcept : arena_(arena) { arena_.helpers_.fetch_add(1); }
    ~Helper() { arena_.helpers_.fetch_sub(1, std::memory_order_release); }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    // Whether that time still lasts; it then lasts during the scope.
    bool is_in(std::uint32_t opening) const noexcept { return arena_.opening_.load() == opening; }

   private:
    TaskArena& arena_;
  };
  TaskSeat& seat(std::uint32_t index) noexcept { return *seats_[index]; }
  std::uint32_t seats() const noexcept { return seat_count_; }

  // The tasks outside all groups.
  TaskGroup& tasks() noexcept { return tasks_; }
  Bell& bell() noexcept { return bell_; }

  // Whether a new task of that depth is worth being deferred by the member.
  bool wants_task(const TaskSeat& seat, std::uint32_t depth) const noexcept {
    if (depth > near_root_ && !is_hungry()) return false;
    return seat.deque.size() < (leaves_foreign() ? left_max : deferred_max);
  }
  // Whether a thread of this rank sleeps, or another rank looks for tasks.
  bool is_hungry() const noexcept {
    return bell_.is_awaited() || hungry_ranks_.load(std::memory_order_relaxed) != 0;
  }
  // By OtherRanks.
  void add_hungry_rank() noexcept { hungry_ranks_.fetch_add(1, std::memory_order_relaxed); }
  void remove_hungry_rank() noexcept { hungry_ranks_.fetch_sub(1, std::memory_order_relaxed); }
  // From now on members find no foreign task, and none that these have made; or they do again. By one thread.
  void leave_foreign(bool leave) noexcept;
  bool leaves_foreign() const noexcept { return leaves_foreign_.load(std::memory_order_relaxed); }

  // A ready task; rings the bell. `own`: the calling member's seat; null: the caller is no member, or what it
  // does now says nothing about the task.
  void put(TaskSeat* own, TaskRecord& record) noexcept;
  // A ready task for a member: its newest, else one of the common queue, else the oldest of another member;
  // null: none. `within`: only descendants of that task, which the calling member has suspended; null: any.
  TaskRecord* find(TaskSeat& own, const Family* within) noexcept;
  // The member is about to sleep and may run only some tasks: the tasks of its deque go to the common queue,
  // where every thread finds the ones that it may run.
  void give_up_deque(TaskSeat& own) noexcept;

  // For other ranks: the oldest task for which wanted(record) holds, as far as the deques let see. It still
  // counts here. Null: there is none. Any thread, blocks for nothing.
  template <class Wanted>
  TaskRecord* take_for_thief(Wanted wanted) noexcept {
    for (std::uint32_t i = 0; i < seat_count_; ++i) {
      if (TaskRecord* const record = seats_[i]->deque.steal(wanted)) return record;
    }
    const Held held(common_lock_);
    for (TaskRecord** place = &common_; *place != nullptr; place = &(*place)->next) {
      if (wanted(**place)) return remove_common(place);
    }
    return nullptr;
  }
  // Another rank has fulfilled the event: a member tells its task, after it has acquired what that rank
  // released. Rings the bell. Any thread.
  void post(TaskEvent& event) noexcept;
  bool has_posted() const noexcept { return posted_.load(std::memory_order_relaxed) != nullptr; }
  // A list by TaskEvent::next.
  TaskEvent* take_posted() noexcept { return posted_.exchange(nullptr); }

  // Ready tasks. A guess while members work.
  std::uint32_t ready() const noexcept;

  // Set while the arena is closed; null: tasks stay on their rank.
  OtherRanks* other_ranks = nullptr;

 private:
  // Tasks by falling priority; the newest first among equals.
  void put_common(TaskRecord& record) noexcept;
  template <class Wanted>
  TaskRecord* take_common(std::int32_t priority_least, Wanted wanted) noexcept;
  TaskRecord* find_of_this_rank(TaskSeat& own, const Family* within) noexcept;
  TaskRecord* remove_common(TaskRecord** place) noexcept MUSUBI_REQUIRES(common_lock_);

  Bell bell_;
  TaskGroup tasks_{nullptr, TaskGroup::Kind::team, this};
  std::uint32_t near_root_ = 0;
  std::uint32_t seat_count_ = 0;
  std::uint32_t seats_made_ = 0;
  TaskSeat** seats_ = nullptr;
  std::atomic<std::uint32_t> opening_{0};
  alignas(64) std::atomic<std::uint32_t> helpers_{0};
  alignas(64) std::atomic<std::uint32_t> hungry_ranks_{0};
  std::atomic<bool> leaves_foreign_{false};
  std::atomic<TaskEvent*> posted_{nullptr};
  SpinLock common_lock_;
  TaskRecord* common_ MUSUBI_GUARDED_BY(common_lock_) = nullptr;
  std::atomic<std::uint32_t> common_count_{0};
  std::atomic<std::int32_t> common_priority_{0};  // the highest one
};

}  // namespace musubi::omp
