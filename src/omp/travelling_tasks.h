// Tasks of a team over the ranks that travel: its arena as task stealing sees it, and the tasks that came
// from other ranks. One object per rank, for all regions.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "omp/tasks/task_arena.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

class TravellingTasks final : public OtherRanks, private task_stealing::LocalTasks {
 public:
  TravellingTasks(runtime::Runtime& runtime, TaskArena& arena) : runtime_(runtime), arena_(arena) {}
  TravellingTasks(const TravellingTasks&) = delete;

  // At the start of the job. Result: false if tasks do not travel.
  bool begin();
  // After the arena is opened, and before it is closed.
  void open() noexcept {
    is_open_.store(true);
    stealing().note_open();
  }
  void close() noexcept { is_open_.store(false); }

  // The first meeting of a barrier: all tasks of this rank have ended and its members have come. `seat`: of
  // the calling member; null: it runs no tasks. Blocks until all ranks are as far; runs tasks in that time.
  // Then no tasks come until open(): the rest of the barrier is quiescent.
  void meet(TaskSeat* seat);

  // OtherRanks
  void wait_begins(const Family* within) noexcept override;
  void wait_ends(const Family* within) noexcept override;
  void note_foreign_work(std::uint64_t ns) noexcept override { stealing().note_work(ns); }
  void foreign_task_ended(TaskRecord& record) noexcept override;
  void subtree_ended(TaskGroup& group) noexcept override;
  void note_surplus() noexcept override {
    if (stealing().is_awaited()) stealing().note_surplus();
  }

 private:
  struct Subtree;

  // LocalTasks
  bool is_open() const noexcept override { return is_open_.load(); }
  std::uint32_t load() const noexcept override;
  bool is_hungry() const noexcept override;
  bool take(const task_stealing::Origin* below, std::span<std::byte> room,
            task_stealing::Departure& departure) noexcept override;
  void departed() noexcept override;
  bool is_below(std::uint64_t task, const task_stealing::Origin& ancestor) noexcept override;
  void arrive(const task_stealing::Origin& origin, std::span<const std::byte> image) noexcept override;
  void come_home(std::uint64_t task) noexcept override;
  void ended(std::uint64_t task) noexcept override;
  void subtree_ended(std::uint64_t task) noexcept override;
  bool fulfilled(std::uint64_t) noexcept override { return false; }
  void peer_waits(bool begins) noexcept override;
  void meeting_over() noexcept override;

  task_stealing::Stealing& stealing() const noexcept { return runtime_.task_travel().stealing(); }
  static const Subtree* subtree_around(const TaskGroup* group) noexcept;
  bool may_move(const TaskRecord& record, const task_stealing::Origin* below) const noexcept;
  void forget(Subtree* subtree) noexcept;

  runtime::Runtime& runtime_;
  TaskArena& arena_;
  std::atomic<bool> is_open_{false};
  // Members that sleep: at a barrier or at the end of a region; in a task, and may run only what descends
  // from it.
  std::atomic<std::uint32_t> free_waits_{0};
  std::atomic<std::uint32_t> bound_waits_{0};
};

}  // namespace musubi::omp
