#include "c_api/global_heap.h"

#include <cstdio>
#include <string>
#include <utility>

#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "c_api/thread_end.h"
#include "musubi/gheap.h"

namespace musubi::c_api {
namespace {

using global_heap::Decision;
using global_heap::Request;
using global_heap::Way;

constinit std::atomic<GlobalHeap*> current_heap{nullptr};
constinit std::atomic<bool> is_made{false};
constinit thread_local int last_error = MUSUBI_GHEAP_OK;

global_heap::ForcedWays ways_of(const config::Settings& settings) {
  global_heap::ForcedWays ways;
  if (settings.gheap_own_way == "local") ways.own = Way::local;
  if (settings.gheap_own_way == "local_plus") ways.own = Way::local_plus;
  if (settings.gheap_peer_way == "remote") ways.peers = Way::remote;
  if (settings.gheap_peer_way == "remote_plus") ways.peers = Way::remote_plus;
  return ways;
}

// For peers both ways are possible with every fabric.
void refuse_impossible_way(runtime::Runtime& runtime, const global_heap::ForcedWays& ways) {
  const fabric::Fabric& fabric = runtime.global_memory().fabric();
  if (!ways.own || global_heap::BreakTable::is_possible(fabric, runtime.self(), *ways.own)) return;
  runtime.ending().abort(
      1,
      "gheap_own_way=local_plus is impossible here, where the processor's atomics do not mix "
      "with the fabric's: give auto or local");
}

// Half of the memory: the other half is left to models that take their part later.
std::uint64_t part_of_heap(const runtime::GlobalMemory& memory) {
  constexpr std::uint64_t page = global_heap::control_bytes;
  return memory.bytes() / 2 / page * page;
}

constinit thread_local global_heap::ObjectCache* cache_of_thread = nullptr;

void let_go_of_cache() {
  give_back_thread_objects();
  delete std::exchange(cache_of_thread, nullptr);
}

}  // namespace

GlobalHeap::GlobalHeap(runtime::Runtime& runtime, const global_heap::HeapLayout& layout,
                       const global_heap::ForcedWays& ways, bool full_checks)
    : runtime_(runtime),
      layout_(layout),
      table_(runtime.global_memory().fabric(),
             {layout.region(), layout.control_at(),
              reinterpret_cast<global_heap::Control*>(runtime.global_memory().own() + layout.control_at())},
             ways),
      transfer(runtime),
      pages(runtime.global_memory().fabric(), layout, table_),
      objects(runtime.global_memory().fabric(), layout, pages, full_checks),
      known_ends_(runtime.ranks()) {}

Decision GlobalHeap::ask(Rank owner, const Request& request) {
  if (const auto decision = table_.ask_at_once(owner, request)) return *decision;
  return run(table_.ask(owner, request));
}

bool GlobalHeap::contains(Rank owner, std::int64_t offset, std::size_t bytes) {
  std::uint64_t end = 0;
  if (offset < 0 || __builtin_add_overflow(static_cast<std::uint64_t>(offset), bytes, &end)) return false;
  std::atomic<std::uint64_t>& known = known_ends_[owner.value];
  if (end <= known.load(std::memory_order_relaxed)) return true;
  const std::uint64_t now = ask(owner, {}).after.end;
  known.store(now, std::memory_order_relaxed);  // may be an older end, which is then queried again
  return end <= now;
}

void* GlobalHeap::address(Rank owner, std::int64_t offset) {
  std::byte* const region = runtime_.global_memory().direct(owner);
  return region == nullptr ? nullptr : region + place_of(offset);
}

bool make_global_heap(std::int64_t size) {
  last_error = MUSUBI_GHEAP_OK;
  Job* const job = current_job();
  bool expected = false;
  if (job == nullptr || !is_made.compare_exchange_strong(expected, true)) {
    refuse_heap_call("ginit", MUSUBI_GHEAP_STATE);
    return false;
  }
  runtime::Runtime& runtime = job->runtime;
  const std::uint64_t bytes = part_of_heap(runtime.global_memory());
  const std::uint64_t begin = runtime.global_memory().take(bytes);
  if (begin == runtime.global_memory().bytes()) {  // the same at every rank
    meet(runtime, Call::ginit);
    is_made.store(false);
    refuse_heap_call("ginit", MUSUBI_GHEAP_CAPACITY);
    return false;
  }
  const config::Settings& settings = runtime.settings();
  const global_heap::ForcedWays ways = ways_of(settings);
  refuse_impossible_way(runtime, ways);
  auto heap = std::make_unique<GlobalHeap>(
      runtime, global_heap::HeapLayout(runtime::GlobalMemory::region, begin, bytes), ways,
      settings.gheap_checks == "full");
  const bool is_possible = size >= 0 && size <= heap->capacity();
  heap->open(is_possible ? static_cast<std::uint64_t>(size) : 0);
  meet(runtime, Call::ginit);
  current_heap.store(heap.release(), std::memory_order_release);
  if (!is_possible) refuse_heap_call("ginit", size < 0 ? MUSUBI_GHEAP_RANGE : MUSUBI_GHEAP_CAPACITY);
  return is_possible;
}

GlobalHeap* current_heap_or_null() noexcept {
  return current_job() == nullptr ? nullptr : current_heap.load(std::memory_order_acquire);
}

GlobalHeap* start_heap_call(const char* call) {
  last_error = MUSUBI_GHEAP_OK;
  GlobalHeap* const heap = current_heap_or_null();
  if (heap == nullptr) refuse_heap_call(call, MUSUBI_GHEAP_STATE);
  return heap;
}

GlobalHeap* start_heap_call(const char* call, int process) {
  GlobalHeap* const heap = start_heap_call(call);
  if (heap == nullptr || heap->has(process)) return heap;
  refuse_heap_call(call, MUSUBI_GHEAP_PROCESS);
  return nullptr;
}

int refuse_heap_call(const char* call, int error) {
  last_error = error;
  explain_call(call, musubi_gerror_text(error));
  return -1;
}

int last_heap_error() noexcept {
  return last_error;
}

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
