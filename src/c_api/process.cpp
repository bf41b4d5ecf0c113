#include "c_api/process.h"

#include <unistd.h>

#include <cstring>

#include "c_api/collective_calls.h"
#include "heap/heap.h"
#include "runtime/join_job.h"

namespace musubi::c_api {
namespace {

constinit std::atomic<Process*> process{nullptr};

Result<void> share_heap(Process& joined) {
  const runtime::Layout& layout = joined.runtime.memory().layout();
  const heap::HeapPlace place{layout.heap_base, layout.heap_bytes_per_rank, joined.runtime.self(),
                              joined.runtime.ranks(), joined.runtime.settings().heap_block_bytes};
  if (auto shared = heap::process_heap.share(place, {}, joined.messages); !shared) return shared;
  joined.runtime.messages().set_heap_listener(&joined.messages);
  // No rank may free memory of a rank that does not serve calls yet.
  joined.runtime.remote_calls().serve(allocation_procedure, joined.allocate);
  joined.runtime.remote_calls().serve(page_home_procedure, joined.page_home);
  name_mismatches(joined.runtime);
  meet(joined.runtime, Call::start);
  return {};
}

}  // namespace

std::uint32_t LockHolders::this_thread() noexcept {
  return static_cast<std::uint32_t>(::gettid());
}

runtime::Answer Allocation::run(Rank, std::span<const std::byte> request,
                                std::span<std::byte> reply) noexcept {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, request.data(), sizeof bytes);
  const auto address = reinterpret_cast<std::uint64_t>(heap::process_heap.allocate_shared(bytes));
  std::memcpy(reply.data(), &address, sizeof address);
  return {0, sizeof address};
}

Process::Process(std::unique_ptr<runtime::Runtime> started)
    : owner(std::move(started)),
      runtime(*owner),
      mapped_memory(heap::process_heap),
      messages(runtime, heap::process_heap, mapped_memory) {}

Process* current_process() noexcept {
  return process.load(std::memory_order_acquire);
}

Result<void> join() {
  auto settings = runtime::read_settings();
  if (!settings) return settings.error();
  auto bootstrap = runtime::join_job();
  if (!bootstrap) return bootstrap.error();
  auto started =
      runtime::start_runtime(settings.value(), std::move(bootstrap).value(), {.adds_segments = true});
  if (!started) return started.error();
  auto joined = std::make_unique<Process>(std::move(started).value());
  if (auto shared = share_heap(*joined); !shared) return shared;
  process.store(joined.release(), std::memory_order_release);
  return {};
}

void let_go() noexcept {
  process.store(nullptr, std::memory_order_release);
}

}  // namespace musubi::c_api
