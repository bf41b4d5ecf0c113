#include "omp/kmp/task_object.h"

#include <cstring>
#include <new>

#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/tasks.h"

namespace musubi::omp::kmp {
namespace {

constexpr std::size_t word_bytes = sizeof(void*);

std::size_t bytes_before_shareds(std::size_t task_bytes) {
  return (task_bytes + word_bytes - 1) / word_bytes * word_bytes;
}

// To the end.
void run(TaskObject* task) {
  header_of(task).is_queued_again = false;
  task->routine(global_thread(), task);
  run_further_parts(task);
  free_task_object(task);
}

void run_captured(void* captured) {
  run(*static_cast<TaskObject**>(captured));
}

}  // namespace

TaskObject* make_task_object(std::int32_t flags, std::size_t task_bytes, std::size_t shareds_bytes,
                             TaskRoutine routine) {
  const std::size_t shareds_at = bytes_before_shareds(task_bytes);
  void* const memory = allocate_shared(alignof(TaskHeader), sizeof(TaskHeader) + shareds_at + shareds_bytes);
  if (memory == nullptr)
    end_job(Job::require("#pragma omp task").runtime,
            "there is no memory for a task: raise MUSUBI_HEAP_BYTES, or make fewer tasks at a time");
  auto* header = new (memory) TaskHeader{task_bytes, shareds_bytes, flags, false, 0, {}};
  auto* task = reinterpret_cast<TaskObject*>(header + 1);
  void* const shareds = shareds_bytes == 0 ? nullptr : reinterpret_cast<std::byte*>(task) + shareds_at;
  return new (task) TaskObject{shareds, routine, 0, {nullptr}, {nullptr}};
}

TaskObject* copy_task_object(TaskObject* task) {
  const TaskHeader& header = header_of(task);
  TaskObject* copy = make_task_object(header.flags, header.task_bytes, header.shareds_bytes, task->routine);
  void* const shareds = copy->shareds;
  std::memcpy(copy, task, bytes_before_shareds(header.task_bytes) + header.shareds_bytes);
  copy->shareds = shareds;
  return copy;
}

void free_task_object(TaskObject* task) {
  TaskHeader& header = header_of(task);
  if ((header.flags & task_flags::has_destructors) != 0) task->data1.destroy(global_thread(), task);
  free_shared(&header);
}

// An untied task queues itself at each of its scheduling points, and returns.
void run_further_parts(TaskObject* task) {
  TaskHeader& header = header_of(task);
  while (header.is_queued_again) {
    header.is_queued_again = false;
    task->routine(global_thread(), task);
  }
}

void run_task_object(TaskObject* task, std::span<const Dependence> dependences, bool deferred) {
  TaskRequest request;
  request.function = &run_captured;
  request.data = &task;
  request.bytes = sizeof task;
  request.alignment = alignof(TaskObject*);
  request.final = (header_of(task).flags & task_flags::final) != 0;
  request.deferred = deferred;
  request.dependences = dependences;
  request.event = header_of(task).event;
  run_task(request);
}

}  // namespace musubi::omp::kmp
