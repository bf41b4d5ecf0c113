// Tasks, loops of tasks, groups, and reductions over them.
#include <sched.h>

#include <algorithm>

#include "omp/entry.h"
#include "omp/gomp/dependences.h"
#include "omp/gomp/reductions.h"
#include "omp/job.h"
#include "omp/tasks.h"

using namespace musubi::omp;

namespace {

// Flags of GOMP_task and GOMP_taskloop (gomp-constants.h of gcc 12).
constexpr unsigned flag_final = 1 << 1, flag_depend = 1 << 3, flag_up = 1 << 8, flag_grainsize = 1 << 9,
                   flag_if = 1 << 10, flag_nogroup = 1 << 11, flag_reduction = 1 << 12, flag_detach = 1 << 13,
                   flag_strict = 1 << 14;

using Copy = void (*)(void*, void*);

std::int32_t limited(int priority) {
  if (priority <= 0) return 0;
  const Job* const job = Job::current();
  const std::uint32_t most = job != nullptr ? job->environment.max_task_priority : 0;
  return static_cast<std::int32_t>(std::min(static_cast<std::uint32_t>(priority), most));
}

TaskRequest request_of(Function function, void* data, Copy copy, long bytes, long alignment, bool deferred,
                       unsigned flags, int priority) {
  TaskRequest request;
  request.function = function;
  request.data = data;
  request.copy = copy;
  request.bytes = static_cast<std::size_t>(bytes);
  request.alignment = alignment > 0 ? static_cast<std::size_t>(alignment) : 1;
  request.final = (flags & flag_final) != 0;
  request.deferred = deferred;
  if (priority != 0) request.priority = limited(priority);
  return request;
}

// The data of a loop's task begin with the bounds of its part, then the descriptors of the reduction.
void task_loop(const TaskRequest& task, const IterationSpace& space, unsigned flags, unsigned long number) {
  const bool groups = (flags & flag_nogroup) == 0;
  if (groups) {
    group_begin();
    if ((flags & flag_reduction) != 0)
      gomp::group_reduction_begin(static_cast<std::uintptr_t**>(task.data)[2]);
  }
  run_task_loop({task, space, (flags & flag_grainsize) != 0, (flags & flag_strict) != 0, number});
  if (groups) group_end();
}

}  // namespace

extern "C" {

// The handle of the event goes to the program's variable and to the first word of the task's data.
MUSUBI_EXPORT void GOMP_task(Function function, void* data, Copy copy, long bytes, long alignment,
                             bool deferred, unsigned flags, void** dependences, int priority, void* detach) {
  MUSUBI_OMP_CALL();
  TaskRequest request = request_of(function, data, copy, bytes, alignment, deferred, flags, priority);
  if (__builtin_expect((flags & (flag_detach | flag_depend)) == 0, 1)) return run_task(request);
  if ((flags & flag_detach) != 0) {
    request.event = make_task_event();
    *static_cast<EventHandle*>(detach) = request.event;
    if (data != nullptr) *static_cast<EventHandle*>(data) = request.event;
  }
  if ((flags & flag_depend) == 0) return run_task(request);
  const gomp::Dependences list(dependences);
  request.dependences = list.all();
  run_task(request);
}

MUSUBI_EXPORT void GOMP_taskloop(Function function, void* data, Copy copy, long bytes, long alignment,
                                 unsigned flags, unsigned long number, int priority, long start, long end,
                                 long step) {
  MUSUBI_OMP_CALL();
  task_loop(request_of(function, data, copy, bytes, alignment, (flags & flag_if) != 0, flags, priority),
            IterationSpace::of(start, end, step), flags, number);
}

MUSUBI_EXPORT void GOMP_taskloop_ull(Function function, void* data, Copy copy, long bytes, long alignment,
                                     unsigned flags, unsigned long number, int priority,
                                     unsigned long long start, unsigned long long end,
                                     unsigned long long step) {
  MUSUBI_OMP_CALL();
  task_loop(request_of(function, data, copy, bytes, alignment, (flags & flag_if) != 0, flags, priority),
            IterationSpace::of((flags & flag_up) != 0, start, end, step), flags, number);
}

MUSUBI_EXPORT void GOMP_taskwait() {
  MUSUBI_OMP_CALL();
  wait_for_children();
}
MUSUBI_EXPORT void GOMP_taskwait_depend(void** dependences) {
  MUSUBI_OMP_CALL();
  const gomp::Dependences list(dependences);
  wait_for_dependences(list.all());
}
// Programs yield in loops that wait for another thread.
MUSUBI_EXPORT void GOMP_taskyield() {
  MUSUBI_OMP_ENTRY();
  if (yield_to_tasks()) return;
  musubi::runtime::note_spin(musubi::runtime::Wait::yield, 0);
  sched_yield();
}

MUSUBI_EXPORT void GOMP_taskgroup_start() {
  MUSUBI_OMP_CALL();
  group_begin();
}
MUSUBI_EXPORT void GOMP_taskgroup_end() {
  MUSUBI_OMP_CALL();
  group_end();
}

MUSUBI_EXPORT void GOMP_taskgroup_reduction_register(std::uintptr_t* descriptors) {
  gomp::group_reduction_begin(descriptors);
}
MUSUBI_EXPORT void GOMP_taskgroup_reduction_unregister(std::uintptr_t* descriptors) {
  gomp::group_reduction_end(descriptors);
}
MUSUBI_EXPORT void GOMP_task_reduction_remap(std::size_t count, std::size_t originals, void** addresses) {
  gomp::remap_reductions(count, originals, addresses);
}
MUSUBI_EXPORT void GOMP_workshare_task_reduction_unregister(bool /*cancelled*/) {
  MUSUBI_OMP_ENTRY();
  gomp::worksharing_reduction_end();
}

}  // extern "C"
