// What every function of the GOMP interface starts with.
#pragma once

#include "base/export.h"
#include "omp/thread.h"
#include "runtime/waiting.h"

// Notes how deep the program's stack is in use: everything above this function's frame belongs to the
// program, and must be visible to other ranks after whatever the function releases.
// Notes where the program called, too, for reports.
#define MUSUBI_GOMP_ENTRY()                               \
  (::musubi::omp::note_stack(__builtin_frame_address(0)), \
   ::musubi::runtime::note_call(__builtin_return_address(0)))

// The only prototypes of these functions are those inside gcc: each definition declares itself.
#pragma GCC diagnostic ignored "-Wmissing-declarations"
