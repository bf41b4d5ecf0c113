#include "c_api/thread_objects.h"

#include <utility>

#include "c_api/thread_end.h"

namespace musubi::c_api {
namespace {

constinit thread_local global_heap::ObjectCache* cache_of_thread = nullptr;

void let_go_of_cache() {
  give_back_thread_objects();
  delete std::exchange(cache_of_thread, nullptr);
}

}  // namespace

global_heap::ObjectCache& thread_objects(const GlobalHeap& heap) {
  if (cache_of_thread == nullptr) {
    static ThreadEnd end(let_go_of_cache);
    cache_of_thread = new global_heap::ObjectCache(heap.ranks());
    end.expect();
  }
  return *cache_of_thread;
}

void give_back_thread_objects() {
  if (cache_of_thread == nullptr) return;
  if (GlobalHeap* const heap = current_heap_or_null()) heap->run(heap->objects.flush(*cache_of_thread));
}

}  // namespace musubi::c_api
