// The free objects of global heaps that a thread has at hand. They go back to the heaps when the thread
// detaches, or ends, within the job's life.
#pragma once

#include "c_api/global_heap.h"
#include "global_heap/object_cache.h"

namespace musubi::c_api {

// The calling thread's, made at the first call.
global_heap::ObjectCache& thread_objects(const GlobalHeap& heap);
// Blocks for as long as the batches take on their way. Nothing if the thread has none.
void give_back_thread_objects();

}  // namespace musubi::c_api
