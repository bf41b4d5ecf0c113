// The beginning of each function that a program calls and that may release, wait or be reported.
#pragma once

#include "base/export.h"
#include "omp/events.h"
#include "omp/thread.h"
#include "runtime/threads/waiting.h"

// Records the depth of the program's stack: everything above this function's frame belongs to the program,
// and must be visible to other ranks after the function's releases. Also records the call site, for reports.
#define MUSUBI_OMP_ENTRY()                                \
  (::musubi::omp::note_stack(__builtin_frame_address(0)), \
   ::musubi::runtime::note_call(__builtin_return_address(0)), MUSUBI_OMP_CALL())
// The same for a tool alone, in functions that neither release nor wait.
#define MUSUBI_OMP_CALL() \
  ::musubi::omp::events::note_entry(__builtin_frame_address(0), __builtin_return_address(0))

// The prototypes of these functions are inside the compiler and in its omp.h: each definition declares
// itself.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
