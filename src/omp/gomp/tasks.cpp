// Tasks, loops of tasks, groups, and reductions over them.
#include <sched.h>

#include <cstring>

#include "omp/entry.h"
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

TaskRequest request_of(Function function, void* data, Copy copy, long bytes, long alignment, bool deferred,
                       unsigned flags) {
  return {function,
          data,
          copy,
          static_cast<std::size_t>(bytes),
          alignment > 0 ? static_cast<std::size_t>(alignment) : 1,
          (flags & flag_final) != 0,
          deferred,
          (flags & flag_depend) != 0};
}

// The task's data begin with the bounds of its part, followed by the descriptors of the reduction.
void set_bounds(void* data, std::uint64_t first, std::uint64_t end) {
  const std::uint64_t bounds[2] = {first, end};
  std::memcpy(data, bounds, sizeof bounds);
}

void task_loop(const TaskRequest& task, const IterationSpace& space, unsigned flags, unsigned long number) {
  const bool groups = (flags & flag_nogroup) == 0;
  if (groups) {
    group_begin();
    if ((flags & flag_reduction) != 0)
      gomp::group_reduction_begin(static_cast<std::uintptr_t**>(task.data)[2]);
  }
  run_task_loop(
      {task, &set_bounds, space, (flags & flag_grainsize) != 0, (flags & flag_strict) != 0, number});
  if (groups) group_end();
}

}  // namespace

extern "C" {

// Dependences need no list: tasks of one parent run in the order of their creation.
MUSUBI_EXPORT void GOMP_task(Function function, void* data, Copy copy, long bytes, long alignment,
                             bool deferred, unsigned flags, void** /*dependences*/, int /*priority*/,
                             void* /*detach*/) {
  if ((flags & flag_detach) != 0) {
    unsupported("#pragma omp task detach", "let the task wait for its event itself");
  }
  run_task(request_of(function, data, copy, bytes, alignment, deferred, flags));
}

MUSUBI_EXPORT void GOMP_taskloop(Function function, void* data, Copy copy, long bytes, long alignment,
                                 unsigned flags, unsigned long number, int /*priority*/, long start, long end,
                                 long step) {
  task_loop(request_of(function, data, copy, bytes, alignment, (flags & flag_if) != 0, flags),
            IterationSpace::of(start, end, step), flags, number);
}

MUSUBI_EXPORT void GOMP_taskloop_ull(Function function, void* data, Copy copy, long bytes, long alignment,
                                     unsigned flags, unsigned long number, int /*priority*/,
                                     unsigned long long start, unsigned long long end,
                                     unsigned long long step) {
  task_loop(request_of(function, data, copy, bytes, alignment, (flags & flag_if) != 0, flags),
            IterationSpace::of((flags & flag_up) != 0, start, end, step), flags, number);
}

MUSUBI_EXPORT void GOMP_taskwait() {
  run_postponed_tasks();
}
MUSUBI_EXPORT void GOMP_taskwait_depend(void** /*dependences*/) {
  run_postponed_tasks();
}
// Programs yield in loops that wait for another thread.
MUSUBI_EXPORT void GOMP_taskyield() {
  MUSUBI_OMP_ENTRY();
  run_postponed_tasks();
  musubi::runtime::note_spin(musubi::runtime::Wait::yield, 0);
  sched_yield();
}

MUSUBI_EXPORT void GOMP_taskgroup_start() {
  group_begin();
}
MUSUBI_EXPORT void GOMP_taskgroup_end() {
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
