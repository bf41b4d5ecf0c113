// gheap.h: the breaks of the heaps.
#include "musubi/gheap.h"

#include <atomic>

#include "base/export.h"
#include "c_api/global_heap.h"

using musubi::Rank;
using musubi::c_api::GlobalHeap;
using musubi::c_api::refuse_heap_call;
using musubi::c_api::start_heap_call;
using musubi::global_heap::Decision;
using musubi::global_heap::Refusal;
using musubi::global_heap::Request;
using Kind = musubi::global_heap::Request::Kind;

namespace {

int error_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return MUSUBI_GHEAP_OK;
    case Refusal::stale:
      return MUSUBI_GHEAP_STALE;
    case Refusal::full:
      return MUSUBI_GHEAP_FULL;
    case Refusal::negative:
      return MUSUBI_GHEAP_RANGE;
    case Refusal::capacity:
      break;
  }
  return MUSUBI_GHEAP_CAPACITY;
}

bool is_granted(const Decision& decision, const char* call) {
  if (decision.refusal == Refusal::none) return true;
  refuse_heap_call(call, error_of(decision.refusal));
  return false;
}

}  // namespace

MUSUBI_EXPORT int ginit(long size) {
  return musubi::c_api::make_global_heap(size) ? 0 : -1;
}

MUSUBI_EXPORT long gbrk(int proc, long old_gbrk, long new_gbrk) {
  GlobalHeap* const heap = start_heap_call("gbrk", proc);
  if (heap == nullptr) return -1;
  const Decision decision = heap->ask(proc, {Kind::move_break, old_gbrk, new_gbrk});
  is_granted(decision, "gbrk");
  return static_cast<long>(decision.after.gbrk);
}

MUSUBI_EXPORT long sgbrk(int proc, long increment) {
  GlobalHeap* const heap = start_heap_call("sgbrk", proc);
  if (heap == nullptr) return -1;
  const Decision decision = heap->ask(proc, {Kind::extend_break, increment});
  return is_granted(decision, "sgbrk") ? static_cast<long>(decision.before.gbrk) : -1;
}

MUSUBI_EXPORT int gglimit(int proc, long* gbrk, long* glimit) {
  GlobalHeap* const heap = start_heap_call("gglimit", proc);
  if (heap == nullptr) return -1;
  const Decision decision = heap->ask(proc, {Kind::look});
  if (gbrk != nullptr) *gbrk = static_cast<long>(decision.after.gbrk);
  if (glimit != nullptr) *glimit = static_cast<long>(decision.after.glimit);
  return 0;
}

MUSUBI_EXPORT int sglimit(long new_glimit) {
  GlobalHeap* const heap = start_heap_call("sglimit");
  if (heap == nullptr) return -1;
  return is_granted(heap->ask_own({Kind::move_limit, new_glimit}), "sglimit") ? 0 : -1;
}

MUSUBI_EXPORT int musubi_ggrow(int proc, long bytes, long* left, long* left_bytes) {
  GlobalHeap* const heap = start_heap_call("musubi_ggrow", proc);
  if (heap == nullptr) return -1;
  const Decision decision = heap->ask(proc, {Kind::grow, bytes, heap->capacity()});
  if (!is_granted(decision, "musubi_ggrow")) return -1;
  if (left != nullptr) *left = static_cast<long>(decision.remainder.begin);
  if (left_bytes != nullptr) *left_bytes = static_cast<long>(decision.remainder.bytes);
  return 0;
}

MUSUBI_EXPORT int musubi_gerror(void) {
  return musubi::c_api::last_heap_error();
}

MUSUBI_EXPORT const char* musubi_gerror_text(int error) {
  switch (error) {
    case MUSUBI_GHEAP_OK:
      return "no error";
    case MUSUBI_GHEAP_STATE:
      return "no global heap: call between musubi_init and musubi_finalize, after the one ginit";
    case MUSUBI_GHEAP_PROCESS:
      return "no such process: processes are numbered from 0 to musubi_size() - 1";
    case MUSUBI_GHEAP_STALE:
      return "the break has been moved in the meantime: try again with the break that gbrk returned";
    case MUSUBI_GHEAP_FULL:
      return "the heap has too little free memory between break and limit: free memory, or call musubi_ggrow";
    case MUSUBI_GHEAP_RANGE:
      return "no such offset: offsets lie inside the heap, and a break moves back only over contiguous free "
             "memory";
    case MUSUBI_GHEAP_CAPACITY:
      return "the heap cannot become so large: raise global_bytes (--set)";
    case MUSUBI_GHEAP_ADDRESS:
      return "a null pointer";
    case MUSUBI_GHEAP_NOT_ALLOCATED:
      return "no allocation begins at this offset of this process's heap";
    case MUSUBI_GHEAP_FREE_ALREADY:
      return "it is free: freed twice, or never allocated";
    case MUSUBI_GHEAP_ALIGNMENT:
      return "an alignment is a power of two, or 0";
    case MUSUBI_GHEAP_HANDLE:
      return "no copy that this thread has begun and not yet found complete";
    default:
      return "no error of the global heap";
  }
}
