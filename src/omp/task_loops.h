// Loops divided into tasks. A range of them is deferred as a whole, and divided by halves where it runs, so
// that thieves get large parts.
#pragma once

#include "omp/tasks.h"
#include "omp/tasks/task_record.h"

namespace musubi::omp {

// Runs the tasks of a record of kind `range`. `data`: the calling thread's copy of its data.
void run_range(const TaskRecord& record, void* data);

}  // namespace musubi::omp
