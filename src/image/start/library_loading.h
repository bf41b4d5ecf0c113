// Libraries that the program opens while it runs: code that one rank has loaded is at the same address at all
// ranks before the call returns, its static data is shared, and its constructors run once, at the rank that
// opened it.
//
// One rank at a time loads, and waits until the others have loaded the same. They load by the path that it
// found, without constructors of shared objects. Nothing is ever unloaded.
#pragma once

#include "image/process/call_as.h"
#include "image/start/job.h"

namespace musubi::image {

// Serves other ranks. Once, before the job's first barrier.
void serve_library_loads(Job& job);

// Makes the dynamic linker ready for it. Once, at every rank of several, before the program has threads. On
// failure the program runs as long as it opens no libraries.
void prepare_library_loads(Job& job);

// As dlopen called by code at `caller`, by `open`, which is the C library's. Null: the C library's error says
// why, or `problem` if that is not null any more: a text that lives for ever.
void* open_library(Job& job, OpenFunction open, const void* caller, const char* path, int flags,
                   const char** problem);

}  // namespace musubi::image
