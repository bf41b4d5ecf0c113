// gheap.h: objects and pages of any process.
#include "base/export.h"
#include "c_api/global_heap.h"
#include "c_api/job.h"
#include "musubi/gheap.h"

using musubi::c_api::GlobalHeap;
using musubi::c_api::rank_of;
using musubi::c_api::refuse_heap_call;
using musubi::c_api::start_heap_call;
using musubi::c_api::thread_objects;
using musubi::global_heap::Freed;
using musubi::global_heap::ObjectCache;
using musubi::global_heap::page_bytes;
using musubi::global_heap::PageState;

namespace {

long allocate_at_heap(GlobalHeap& heap, ObjectCache& cache, int process, std::size_t bytes) {
  const std::uint64_t found_before = heap.objects.found_late();
  const auto offset = heap.run(heap.objects.allocate(cache, rank_of(process), bytes));
  if (heap.objects.found_late() != found_before) {
    musubi::c_api::explain_call("musubi_galloc", "an object came back that another process freed, too");
  }
  if (offset) return static_cast<long>(*offset);
  return refuse_heap_call("musubi_galloc", MUSUBI_GHEAP_CAPACITY);
}

int result_of_free(Freed freed) {
  if (freed == Freed::done) return 0;
  return refuse_heap_call("musubi_gfree",
                          freed == Freed::no_object ? MUSUBI_GHEAP_NOT_ALLOCATED : MUSUBI_GHEAP_FREE_ALREADY);
}

}  // namespace

MUSUBI_EXPORT long musubi_galloc(int process, size_t bytes) {
  GlobalHeap* const heap = start_heap_call("musubi_galloc", process);
  if (heap == nullptr) return -1;
  ObjectCache& cache = thread_objects(*heap);
  if (const auto offset = heap->objects.allocate_at_once(cache, rank_of(process), bytes)) {
    return static_cast<long>(*offset);
  }
  return allocate_at_heap(*heap, cache, process, bytes);
}

MUSUBI_EXPORT int musubi_gfree(int process, long offset) {
  GlobalHeap* const heap = start_heap_call("musubi_gfree", process);
  if (heap == nullptr) return -1;
  ObjectCache& cache = thread_objects(*heap);
  const auto place = static_cast<std::uint64_t>(offset);  // below 0: beyond any heap
  if (const auto freed = heap->objects.free_at_once(cache, rank_of(process), place)) {
    return result_of_free(*freed);
  }
  return result_of_free(heap->run(heap->objects.free(cache, rank_of(process), place)));
}

MUSUBI_EXPORT long gmap(int process, size_t bytes, size_t alignment) {
  GlobalHeap* const heap = start_heap_call("gmap", process);
  if (heap == nullptr) return -1;
  if (bytes == 0) return refuse_heap_call("gmap", MUSUBI_GHEAP_RANGE);
  if ((alignment & (alignment - 1)) != 0) return refuse_heap_call("gmap", MUSUBI_GHEAP_ALIGNMENT);
  const std::uint64_t boundary = alignment < page_bytes ? page_bytes : alignment;
  const auto offset = heap->run(heap->pages.take(rank_of(process), bytes, boundary, PageState::mapped));
  if (offset) return static_cast<long>(*offset);
  return refuse_heap_call("gmap", MUSUBI_GHEAP_CAPACITY);
}

MUSUBI_EXPORT int gunmap(int process, long offset, size_t bytes) {
  GlobalHeap* const heap = start_heap_call("gunmap", process);
  if (heap == nullptr) return -1;
  const auto begin = static_cast<std::uint64_t>(offset);  // below 0: beyond any heap
  const auto capacity = static_cast<std::uint64_t>(heap->capacity());
  if (begin % page_bytes != 0 || bytes == 0 || begin > capacity || bytes > capacity - begin)
    return refuse_heap_call("gunmap", MUSUBI_GHEAP_RANGE);
  const std::uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
  const PageState unlike = heap->run(heap->pages.give_back(rank_of(process), begin / page_bytes, pages));
  if (unlike == PageState::mapped) return 0;
  return refuse_heap_call("gunmap",
                          unlike == PageState::free ? MUSUBI_GHEAP_FREE_ALREADY : MUSUBI_GHEAP_NOT_ALLOCATED);
}
