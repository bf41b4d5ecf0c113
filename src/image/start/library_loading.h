// Libraries that the program opens while it runs: before the call returns, the code that one rank has loaded
// is at the same address on all ranks, and its static data is shared. Its constructors run once, on the rank
// that opened it.
//
// One rank at a time loads, and waits until all other ranks have loaded the same objects. They load by the
// path that it found, without running constructors of shared objects. Libraries are never unloaded.
#pragma once

#include "image/process/call_as.h"
#include "image/start/job.h"

namespace musubi::image {

// Serves other ranks. Once, before the job's first barrier.
void serve_library_loads(Job& job);

// Prepares the dynamic linker. Once, on every rank of several, before the program has threads. On failure the
// program still runs as long as it opens no libraries.
void prepare_library_loads(Job& job);

// As dlopen called from `caller`, through the C library's `open`. Null: `problem` is the reason, a text that
// lives for ever, or if that is still null the C library's error is.
void* open_library(Job& job, OpenFunction open, const void* caller, const char* path, int flags,
                   const char** problem);

}  // namespace musubi::image
