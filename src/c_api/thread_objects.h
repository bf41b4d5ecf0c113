// The free objects of global heaps that a thread has cached. They return to the heaps when the thread
// detaches or ends while the job lives.
#pragma once

#include "c_api/global_heap.h"
#include "global_heap/object_cache.h"

namespace musubi::c_api {

// The calling thread's, made at the first call.
global_heap::ObjectCache& thread_objects(const GlobalHeap& heap);
// Blocks until the batches have arrived. Does nothing if the thread has none.
void give_back_thread_objects();

}  // namespace musubi::c_api
