#include "c_api/thread_objects.h"

#include <memory>

namespace musubi::c_api {
namespace {

struct ThreadObjects {
  ~ThreadObjects() { give_back_thread_objects(); }
  std::unique_ptr<global_heap::ObjectCache> cache;
};

// The pointer is found without a call; the other object is there to be destroyed when the thread ends.
constinit thread_local global_heap::ObjectCache* cache_of_thread = nullptr;
thread_local ThreadObjects objects_of_thread;

}  // namespace

global_heap::ObjectCache& thread_objects(const GlobalHeap& heap) {
  if (cache_of_thread == nullptr) {
    objects_of_thread.cache = std::make_unique<global_heap::ObjectCache>(heap.ranks());
    cache_of_thread = objects_of_thread.cache.get();
  }
  return *cache_of_thread;
}

void give_back_thread_objects() {
  if (cache_of_thread == nullptr) return;
  if (GlobalHeap* const heap = current_heap_or_null()) heap->run(heap->objects.flush(*cache_of_thread));
}

}  // namespace musubi::c_api
