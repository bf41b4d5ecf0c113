// Tasks of a team over the ranks that travel: its arena as task stealing sees it, and the tasks that came
// from other ranks. One object per rank, for all regions.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/spin_lock.h"
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
  void open() noexcept { is_open_.store(true); }
  void close() noexcept { is_open_.store(false); }

  // The first meeting of a barrier: all tasks of this rank have ended and its members have come. `seat`: of
  // the calling member; null: it runs no tasks. Blocks until all ranks are as far; runs tasks in that time.
  void meet(TaskSeat* seat);

  // OtherRanks
  bool work_for(TaskSeat& seat, const Family* within) noexcept override;
  void note_foreign_work(std::uint64_t ns) noexcept override { stealing().note_work(ns); }
  void foreign_task_ended(TaskRecord& record, bool here) noexcept override;
  void subtree_ended(TaskGroup& group) noexcept override;
  void note_surplus() noexcept override {
    if (stealing().is_awaited()) stealing().note_surplus();
  }

 private:
  struct Subtree;

  // LocalTasks
  std::uint32_t load() const noexcept override;
  bool is_hungry() const noexcept override;
  bool take(const task_stealing::StolenFrom* below, std::span<std::byte> room,
            task_stealing::Departure& departure) noexcept override;
  void put_back(std::uint64_t task) noexcept override;
  void arrive(const task_stealing::StolenFrom& from, std::uint64_t below,
              std::span<const std::byte> image) noexcept override;
  void ended(std::uint64_t task) noexcept override;
  void subtree_ended(std::uint64_t task) noexcept override;
  bool fulfilled(std::uint64_t) noexcept override { return false; }
  void peer_waits(bool begins) noexcept override;
  void meeting_over() noexcept override;

  task_stealing::Stealing& stealing() const noexcept { return runtime_.task_travel().stealing(); }
  TaskGroup* group_of(const task_stealing::StolenFrom& from) noexcept;
  void forget_absent(const TaskRecord* record) noexcept;

  runtime::Runtime& runtime_;
  TaskArena& arena_;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> member_waits_{false};  // at a barrier or at the end of a region
  SpinLock lock_;
  Subtree* subtrees_ MUSUBI_GUARDED_BY(lock_) = nullptr;
  std::vector<TaskRecord*> absent_ MUSUBI_GUARDED_BY(lock_);  // have left, and their functions run
};

}  // namespace musubi::omp
