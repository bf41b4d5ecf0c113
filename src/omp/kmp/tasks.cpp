// Tasks, loops of tasks, and groups.
#include <sched.h>

#include <span>
#include <vector>

#include "omp/entry.h"
#include "omp/job.h"
#include "omp/kmp/abi.h"
#include "omp/kmp/static_shares.h"
#include "omp/kmp/task_object.h"
#include "omp/kmp/task_reductions.h"
#include "omp/locks.h"
#include "omp/tasks.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

// kmp_depend_info: flags 1 in, 2 out, 4 mutexinoutset, 8 inoutset, 0x80 all memory.
struct DependInfo {
  std::uintptr_t address;
  std::size_t bytes;
  std::uint8_t flags;
};

class Dependences {
 public:
  Dependences(std::int32_t count, const DependInfo* list, std::int32_t count_without_alias,
              const DependInfo* without_alias) {
    add(count, list);
    add(count_without_alias, without_alias);
  }
  std::span<const Dependence> all() const { return list_; }

 private:
  void add(std::int32_t count, const DependInfo* list) {
    constexpr std::uint8_t kinds = 15, in = 1, inoutset = 8, all_memory = 0x80;
    for (std::int32_t i = 0; i < count; ++i) {
      const std::uint8_t flags = list[i].flags;
      if ((flags & all_memory) != 0) {
        list_.push_back({Dependence::all_memory, DependenceKind::out});
      } else {
        const DependenceKind kind = (flags & kinds) == in         ? DependenceKind::in
                                    : (flags & kinds) == inoutset ? DependenceKind::inoutset
                                                                  : DependenceKind::out;
        list_.push_back({list[i].address, kind});
      }
    }
  }

  std::vector<Dependence, musubi::FrameAllocator<Dependence>> list_;
};

// A task that queues itself again goes on in its own run.
std::int32_t run_or_queue(TaskObject* task, std::span<const Dependence> dependences) {
  if (task->part != 0) {
    header_of(task).is_queued_again = true;
    return 0;
  }
  run_task_object(task, dependences, true);
  return 0;
}

struct TaskLoop {
  TaskObject* task;
  std::int32_t condition;
  std::uint64_t* lower;
  std::uint64_t* upper;  // included
  std::int64_t step;
  std::int32_t without_group;
  std::int32_t sized_by;  // 1: a grain size, 2: a number of tasks
  std::uint64_t number;
  bool strict;
  void (*copy)(TaskObject* to, TaskObject* from, std::int32_t is_last);
};

// The bounds lie among the task's private variables.
std::uint64_t& bound_in(TaskObject* copy, TaskObject* task, std::uint64_t* bound) {
  const std::ptrdiff_t at = reinterpret_cast<std::byte*>(bound) - reinterpret_cast<std::byte*>(task);
  return *reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(copy) + at);
}

void run_parts(const TaskLoop& loop) {
  // An unsigned loop variable has fewer bits, or its loop is short enough.
  const Bounds<std::int64_t> bounds{static_cast<std::int64_t>(*loop.lower),
                                    static_cast<std::int64_t>(*loop.upper), loop.step};
  const IterationSpace space = bounds.space();
  TaskLoopRequest request;
  request.space = space;
  request.sized_by_grain = loop.sized_by == 1;
  request.strict = loop.strict;
  request.number = loop.sized_by == 0 ? 0 : loop.number;
  const TaskLoopParts parts = parts_of(request);
  for (std::uint64_t i = 0; i < parts.tasks; ++i) {
    const Chunk share = parts.part(space.count, request.number, i);
    TaskObject* const copy = copy_task_object(loop.task);
    bound_in(copy, loop.task, loop.lower) = space.value_at(share.first);
    bound_in(copy, loop.task, loop.upper) = space.value_at(share.last - 1);
    if (loop.copy != nullptr) loop.copy(copy, loop.task, share.last == space.count);
    run_task_object(copy, {}, loop.condition != 0);
  }
}

void run_loop(const TaskLoop& loop) {
  const bool groups = loop.without_group == 0;
  if (groups) group_begin();
  run_parts(loop);
  if (groups) group_end();
  free_task_object(loop.task);
}

}  // namespace

extern "C" {

MUSUBI_EXPORT TaskObject* __kmpc_omp_task_alloc(Place*, GlobalThread, std::int32_t flags,
                                                std::size_t task_bytes, std::size_t shareds_bytes,
                                                TaskRoutine routine) {
  return make_task_object(flags, task_bytes, shareds_bytes, routine);
}
MUSUBI_EXPORT TaskObject* __kmpc_omp_target_task_alloc(Place*, GlobalThread, std::int32_t flags,
                                                       std::size_t task_bytes, std::size_t shareds_bytes,
                                                       TaskRoutine routine, std::int64_t /*device*/) {
  return make_task_object(flags, task_bytes, shareds_bytes, routine);
}

MUSUBI_EXPORT std::int32_t __kmpc_omp_task(Place*, GlobalThread, TaskObject* task) {
  MUSUBI_OMP_CALL();
  return run_or_queue(task, {});
}
MUSUBI_EXPORT std::int32_t __kmpc_omp_task_parts(Place*, GlobalThread, TaskObject* task) {
  return run_or_queue(task, {});
}
MUSUBI_EXPORT std::int32_t __kmpc_omp_task_with_deps(Place*, GlobalThread, TaskObject* task,
                                                     std::int32_t count, DependInfo* list,
                                                     std::int32_t count_without_alias,
                                                     DependInfo* without_alias) {
  MUSUBI_OMP_CALL();
  return run_or_queue(task, Dependences(count, list, count_without_alias, without_alias).all());
}

// A task whose `if` clause is false: the caller runs it, after its predecessors.
MUSUBI_EXPORT void __kmpc_omp_task_begin_if0(Place*, GlobalThread, TaskObject* task) {
  MUSUBI_OMP_CALL();
  TaskHeader& header = header_of(task);
  TaskRequest request;
  request.final = (header.flags & task_flags::final) != 0;
  request.deferred = false;
  begin_included_task(header.included, request);
}
MUSUBI_EXPORT void __kmpc_omp_task_complete_if0(Place*, GlobalThread, TaskObject* task) {
  run_further_parts(task);  // which its caller does not know of
  end_included_task(header_of(task).included);
  free_task_object(task);
}

MUSUBI_EXPORT std::int32_t __kmpc_omp_taskwait(Place*, GlobalThread) {
  MUSUBI_OMP_CALL();
  wait_for_children();
  return 0;
}
MUSUBI_EXPORT void __kmpc_omp_wait_deps(Place*, GlobalThread, std::int32_t count, DependInfo* list,
                                        std::int32_t count_without_alias, DependInfo* without_alias) {
  wait_for_dependences(Dependences(count, list, count_without_alias, without_alias).all());
}
MUSUBI_EXPORT void __kmpc_omp_taskwait_deps_51(Place*, GlobalThread, std::int32_t count, DependInfo* list,
                                               std::int32_t count_without_alias, DependInfo* without_alias,
                                               std::int32_t /*has_no_wait*/) {
  wait_for_dependences(Dependences(count, list, count_without_alias, without_alias).all());
}
// Programs yield in loops that wait for another thread.
MUSUBI_EXPORT std::int32_t __kmpc_omp_taskyield(Place*, GlobalThread, std::int32_t /*end_part*/) {
  MUSUBI_OMP_ENTRY();
  if (yield_to_tasks()) return 0;
  musubi::runtime::note_spin(musubi::runtime::Wait::yield, 0);
  sched_yield();
  return 0;
}

MUSUBI_EXPORT void __kmpc_taskgroup(Place*, GlobalThread) {
  MUSUBI_OMP_CALL();
  group_begin();
}
MUSUBI_EXPORT void __kmpc_end_taskgroup(Place*, GlobalThread) {
  MUSUBI_OMP_CALL();
  end_group_with_reductions();
}

MUSUBI_EXPORT void __kmpc_taskloop(Place*, GlobalThread, TaskObject* task, std::int32_t condition,
                                   std::uint64_t* lower, std::uint64_t* upper, std::int64_t step,
                                   std::int32_t without_group, std::int32_t sized_by, std::uint64_t number,
                                   void (*copy)(TaskObject*, TaskObject*, std::int32_t)) {
  MUSUBI_OMP_CALL();
  run_loop({task, condition, lower, upper, step, without_group, sized_by, number, false, copy});
}
MUSUBI_EXPORT void __kmpc_taskloop_5(Place*, GlobalThread, TaskObject* task, std::int32_t condition,
                                     std::uint64_t* lower, std::uint64_t* upper, std::int64_t step,
                                     std::int32_t without_group, std::int32_t sized_by, std::uint64_t number,
                                     std::int32_t strict,
                                     void (*copy)(TaskObject*, TaskObject*, std::int32_t)) {
  MUSUBI_OMP_CALL();
  run_loop({task, condition, lower, upper, step, without_group, sized_by, number, strict != 0, copy});
}

MUSUBI_EXPORT void* __kmpc_task_allow_completion_event(Place*, GlobalThread, TaskObject* task) {
  header_of(task).event = make_task_event();
  return reinterpret_cast<void*>(header_of(task).event);
}
// Affinity is a hint.
MUSUBI_EXPORT std::int32_t __kmpc_omp_reg_task_with_affinity(Place*, GlobalThread, TaskObject* /*task*/,
                                                             std::int32_t /*count*/, void* /*places*/) {
  return 0;
}

MUSUBI_EXPORT std::uint64_t __kmpc_get_taskid() {
  return task_mark();
}
MUSUBI_EXPORT std::uint64_t __kmpc_get_parent_taskid() {
  Task* const parent = current_task().parent;
  return parent == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(parent);
}
MUSUBI_EXPORT bool __kmpc_omp_has_task_team(GlobalThread) {
  return implicit_task().size > 1;
}

}  // extern "C"
