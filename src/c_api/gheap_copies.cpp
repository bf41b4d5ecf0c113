// gheap.h: copies between heaps and this process's memory.
#include "base/export.h"
#include "c_api/global_heap.h"
#include "c_api/job.h"
#include "c_api/started_calls.h"
#include "musubi/gheap.h"

using musubi::Task;
using musubi::c_api::GlobalHeap;
using musubi::c_api::rank_of;
using musubi::c_api::refuse_heap_call;
using musubi::c_api::start_heap_call;
using State = musubi::runtime::StartedTasks::State;

namespace {

// The heap for [offset, offset + bytes) at `proc`, for a copy to (`stores`) or from `local`; null: refused.
GlobalHeap* reach(const char* call, int proc, long offset, const void* local, std::size_t bytes,
                  bool stores) {
  GlobalHeap* const heap = start_heap_call(call, proc);
  if (heap == nullptr) return nullptr;
  if (local == nullptr && bytes != 0) {
    refuse_heap_call(call, MUSUBI_GHEAP_ADDRESS);
    return nullptr;
  }
  if (!heap->contains(rank_of(proc), offset, bytes)) {
    refuse_heap_call(call, MUSUBI_GHEAP_RANGE);
    return nullptr;
  }
  if (musubi::c_api::Job* const job = musubi::c_api::current_job()) job->open(local, bytes, stores);
  return heap;
}

long handle_of(GlobalHeap& heap, std::optional<Task<>> copy) {
  return copy ? musubi::c_api::start_call(heap.executor(), std::move(*copy)) : 0;
}

// False: refused.
bool is_known(State state, const char* call) {
  if (state != State::unknown) return true;
  refuse_heap_call(call, MUSUBI_GHEAP_HANDLE);
  return false;
}

}  // namespace

MUSUBI_EXPORT int musubi_gget(int proc, long offset, void* local, size_t bytes) {
  GlobalHeap* const heap = reach("musubi_gget", proc, offset, local, bytes, true);
  if (heap == nullptr) return -1;
  heap->transfer.get(rank_of(proc), heap->place_of(offset), local, bytes);
  return 0;
}

MUSUBI_EXPORT int musubi_gput(int proc, long offset, const void* local, size_t bytes) {
  GlobalHeap* const heap = reach("musubi_gput", proc, offset, local, bytes, false);
  if (heap == nullptr) return -1;
  heap->transfer.put(rank_of(proc), heap->place_of(offset), local, bytes);
  return 0;
}

MUSUBI_EXPORT long musubi_gget_begin(int proc, long offset, void* local, size_t bytes) {
  GlobalHeap* const heap = reach("musubi_gget_begin", proc, offset, local, bytes, true);
  if (heap == nullptr) return -1;
  return handle_of(*heap, heap->transfer.begin_get(rank_of(proc), heap->place_of(offset), local, bytes));
}

MUSUBI_EXPORT long musubi_gput_begin(int proc, long offset, const void* local, size_t bytes) {
  GlobalHeap* const heap = reach("musubi_gput_begin", proc, offset, local, bytes, false);
  if (heap == nullptr) return -1;
  return handle_of(*heap, heap->transfer.begin_put(rank_of(proc), heap->place_of(offset), local, bytes));
}

MUSUBI_EXPORT int musubi_gwait(long handle) {
  GlobalHeap* const heap = start_heap_call("musubi_gwait");
  if (heap == nullptr) return -1;
  return is_known(musubi::c_api::wait_for_call(handle), "musubi_gwait") ? 0 : -1;
}

MUSUBI_EXPORT int musubi_gtest(long handle) {
  GlobalHeap* const heap = start_heap_call("musubi_gtest");
  if (heap == nullptr) return -1;
  const State state = musubi::c_api::test_call(handle);
  if (!is_known(state, "musubi_gtest")) return -1;
  return state == State::done ? 1 : 0;
}

MUSUBI_EXPORT void* musubi_gaddress(int proc, long offset) {
  GlobalHeap* const heap = reach("musubi_gaddress", proc, offset, nullptr, 0, false);
  return heap == nullptr ? nullptr : heap->address(rank_of(proc), offset);
}
