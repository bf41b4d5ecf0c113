// The state of the global heaps in the C interface: made by ginit, valid until musubi_finalize.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "global_heap/breaks.h"
#include "global_heap/layout.h"
#include "global_heap/object_cache.h"
#include "global_heap/objects.h"
#include "global_heap/pages.h"
#include "runtime/api/global_transfer.h"
#include "runtime/api/runtime.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::c_api {

inline Rank rank_of(int process) {
  return Rank{static_cast<std::uint32_t>(process)};
}

class GlobalHeap {
 public:
  GlobalHeap(runtime::Runtime& runtime, const global_heap::HeapLayout& layout,
             const global_heap::ForcedWays& ways, bool full_checks);

  // Before any rank asks.
  void open(std::uint64_t size) { table_.open({0, size, size, 0}); }
  global_heap::Decision ask(int process, const global_heap::Request& request) {
    return ask(rank_of(process), request);
  }
  global_heap::Decision ask_own(const global_heap::Request& request) { return ask(runtime_.self(), request); }

  bool has(int process) const {
    return process >= 0 && static_cast<std::uint32_t>(process) < runtime_.ranks();
  }
  // Whether the heap of `owner` has these bytes now; queries the owner only for bytes after the known end.
  bool contains(Rank owner, std::int64_t offset, std::size_t bytes);
  std::uint64_t place_of(std::int64_t offset) const {
    return layout_.data_at(static_cast<std::uint64_t>(offset));
  }
  void* address(Rank owner, std::int64_t offset);
  // Of a heap's data, at its present or any later size.
  std::int64_t capacity() const { return static_cast<std::int64_t>(layout_.data_bytes()); }

  std::uint32_t ranks() const { return runtime_.ranks(); }

  // The calling thread's.
  runtime::ThreadExecutor& executor() {
    return runtime::ThreadExecutor::of_this_thread(runtime_.global_memory().fabric(), runtime_.counters());
  }
  // Drives the task to its end on the calling thread.
  template <class T>
  T run(Task<T> task) {
    return executor().run(std::move(task));
  }

 private:
  global_heap::Decision ask(Rank owner, const global_heap::Request& request);

  runtime::Runtime& runtime_;
  const global_heap::HeapLayout layout_;
  global_heap::BreakTable table_;

 public:
  runtime::GlobalTransfer transfer;
  global_heap::Pages pages;
  global_heap::ObjectAllocator objects;

 private:
  std::vector<std::atomic<std::uint64_t>> known_ends_;
};

// Collective. False: refused, and the reason is recorded.
bool make_global_heap(std::int64_t size);

// Null: no heap was made, or the job is over. Records nothing.
GlobalHeap* current_heap_or_null() noexcept;
// Every call begins with this. Null: refused, and the reason is recorded.
GlobalHeap* start_heap_call(const char* call);
GlobalHeap* start_heap_call(const char* call, int process);
// Records the reason for this thread, and prints it if the user wants that. Result: -1.
int refuse_heap_call(const char* call, int error);
int last_heap_error() noexcept;

// The free objects that the calling thread has cached, made at the first call. They return to the heaps when
// the thread detaches or ends while the job lives.
global_heap::ObjectCache& thread_objects(const GlobalHeap& heap);
// Blocks until the batches have arrived. Does nothing if the thread has none.
void give_back_thread_objects();

}  // namespace musubi::c_api
