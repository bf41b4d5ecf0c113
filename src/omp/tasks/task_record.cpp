#include "omp/tasks/task_record.h"

#include <new>

#include "base/frame_pool.h"

namespace musubi::omp {

TaskRecord* make_task_record() {
  return new (frame_allocate(sizeof(TaskRecord))) TaskRecord;
}

void free_task_record(TaskRecord* record) {
  frame_free(record, sizeof(TaskRecord));
}

}  // namespace musubi::omp
