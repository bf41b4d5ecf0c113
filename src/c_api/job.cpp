// musubi.h: joining and leaving the job.
#include "c_api/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/global_heap.h"
#include "c_api/started_calls.h"
#include "heap/heap.h"
#include "musubi/musubi.h"
#include "runtime/join_job.h"

namespace musubi::c_api {
namespace {

constinit std::atomic<Job*> job{nullptr};

Result<void> share_heap(Job& joined) {
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

Job::Job(std::unique_ptr<runtime::Runtime> started)
    : owner(std::move(started)),
      runtime(*owner),
      mapped_memory(heap::process_heap),
      messages(runtime, heap::process_heap, mapped_memory) {}

Job* current_job() noexcept {
  return job.load(std::memory_order_acquire);
}

Result<void> join() {
  auto settings = runtime::read_settings();
  if (!settings) return settings.error();
  auto bootstrap = runtime::join_job();
  if (!bootstrap) return bootstrap.error();
  auto started =
      runtime::start_runtime(settings.value(), std::move(bootstrap).value(), {.adds_segments = true});
  if (!started) return started.error();
  auto joined = std::make_unique<Job>(std::move(started).value());
  if (auto shared = share_heap(*joined); !shared) return shared;
  job.store(joined.release(), std::memory_order_release);
  return {};
}

void explain_call(const char* call, const char* text) {
  const Job* const of_process = current_job();
  if (of_process == nullptr || !of_process->runtime.settings().explain_refusals) return;
  const std::string line =
      "musubi: rank " + std::to_string(of_process->runtime.self().value) + ": " + call + ": " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

void let_go() noexcept {
  job.store(nullptr, std::memory_order_release);
}

}  // namespace musubi::c_api

using musubi::c_api::current_job;
using musubi::c_api::Job;

namespace {

// Each process passes through these stages once.
enum class Stage { before, joined, after };
constinit std::atomic<Stage> stage{Stage::before};
// The calling thread was attached by musubi_attach_thread.
constinit thread_local bool is_outsider = false;

void print_line(const std::string& text) {
  const std::string line = "musubi: " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

// The largest status of all ranks. The barrier is first, because it may fetch the writes of other ranks.
// After the gather no rank sends another a request, so each may leave.
int agree_on_status(musubi::runtime::Runtime& runtime, int status) {
  using musubi::c_api::Call;
  constexpr int status_mask = 0xff;  // wait(2) keeps these bits of a status
  musubi::c_api::meet(runtime, Call::finalize);
  musubi::runtime::CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(Call::finalize);
  terms.bytes = 1;
  const auto own = static_cast<std::byte>(status & status_mask);
  std::byte largest = own;
  musubi::c_api::gather(runtime, terms, &own, [&](std::size_t, std::span<const std::byte> all) {
    for (const std::byte one : all) largest = std::max(largest, one);
  });
  return std::to_integer<int>(largest);
}

}  // namespace

MUSUBI_EXPORT int musubi_init(int*, char***) {
  Stage expected = Stage::before;
  if (current_job() != nullptr) return MUSUBI_ERROR_STATE;  // sms_startup has joined
  if (!stage.compare_exchange_strong(expected, Stage::joined)) return MUSUBI_ERROR_STATE;
  if (const auto joined = musubi::c_api::join(); !joined) {
    print_line(joined.error().message);
    stage.store(Stage::after);
    return MUSUBI_ERROR_START;
  }
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_finalize(int status) {
  Job* const job = current_job();
  Stage expected = Stage::joined;
  if (job == nullptr || !stage.compare_exchange_strong(expected, Stage::after)) return MUSUBI_ERROR_STATE;
  musubi::c_api::wait_for_started_calls();
  musubi::c_api::give_back_thread_objects();
  const int agreed = agree_on_status(job->runtime, status);
  // The launcher may end this process as soon as another rank has left: output must be flushed before.
  std::fflush(nullptr);
  job->runtime.ending().finish(agreed);
  musubi::c_api::let_go();
  return MUSUBI_OK;
}

MUSUBI_EXPORT void musubi_abort(int status, const char* reason) {
  const std::string text = reason != nullptr ? reason : "the program ended the job";
  status = std::max(status & 0xff, 1);
  std::fflush(nullptr);
  if (Job* const job = current_job()) job->runtime.ending().abort(status, text);
  print_line(text);
  std::_Exit(status);
}

MUSUBI_EXPORT int musubi_rank(void) {
  const Job* const job = current_job();
  return job == nullptr ? -1 : static_cast<int>(job->runtime.self().value);
}

MUSUBI_EXPORT int musubi_size(void) {
  const Job* const job = current_job();
  return job == nullptr ? 0 : static_cast<int>(job->runtime.ranks());
}

MUSUBI_EXPORT int musubi_attach_thread(void) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  job->runtime.threads().add_outsider();
  const bool is_new = job->runtime.threads().attach();
  if (!is_new) job->runtime.threads().remove_outsider();
  is_outsider = is_outsider || is_new;
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_detach_thread(void) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  musubi::c_api::wait_for_started_calls();
  musubi::c_api::give_back_thread_objects();
  job->runtime.threads().detach();
  if (is_outsider) job->runtime.threads().remove_outsider();
  is_outsider = false;
  return MUSUBI_OK;
}
