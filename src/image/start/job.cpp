#include "image/start/job.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "bootstrap/bootstrap.h"
#include "config/environment.h"
#include "image/children/fork.h"
#include "image/libraries/loaded_objects.h"
#include "image/process/refusal.h"
#include "image/start/library_loading.h"
#include "image/start/tools.h"
#include "omp/process.h"
#include "omp/shared_memory.h"
#include "os/clock.h"
#include "runtime/join_job.h"

namespace musubi::image {
namespace {

// Interposed functions have no argument to carry the job.
constinit Job* job_of_process = nullptr;

// This share of rank 0's part of the heap serves brk and sbrk.
constexpr std::size_t heap_parts_per_break = 16;
constexpr std::size_t break_bytes_max = std::size_t{1} << 30;

constexpr int status_of_refusal = 125;  // as env, timeout and others use if they cannot start a program

// The value of `step`; ends the process if it failed.
template <typename Value>
Value value_or_refuse(Result<Value> step) {
  if (!step) refuse(status_of_refusal, step.error().message);
  return std::move(step).value();
}

// Programs that this one starts run without this library.
void leave_preloading() {
  const auto preloaded = config::environment_variable("LD_PRELOAD");
  if (!preloaded) return;
  std::string kept;
  std::size_t begin = 0;
  while (begin < preloaded->size()) {
    const std::size_t end = std::min(preloaded->find_first_of(": ", begin), preloaded->size());
    const std::string path = preloaded->substr(begin, end - begin);
    begin = end + 1;
    if (path.empty() || path.find("libmusubi-omp.so") != std::string::npos) continue;
    if (!kept.empty()) kept += ':';
    kept += path;
  }
  if (kept.empty()) {
    ::unsetenv("LD_PRELOAD");
  } else {
    ::setenv("LD_PRELOAD", kept.c_str(), 1);
  }
}

void compare_images(bootstrap::Bootstrap& bootstrap, std::chrono::nanoseconds start_timeout) {
  auto all = bootstrap.all_gather(image_fingerprint());
  if (!all) refuse(status_of_refusal, all.error().message);
  const std::string difference = fingerprint_difference(all.value());
  if (difference.empty()) return;
  // Rank 0 reports for all ranks, unless it sees no difference.
  if (bootstrap.self() != Rank{0}) os::sleep_ns(static_cast<std::uint64_t>(start_timeout.count()));
  bootstrap.abort(status_of_refusal, difference);
}

// The offset that makes this host's clock agree with rank 0's, as closely as their times of day: a system
// service synchronises these, and measuring over the network would not do better.
std::int64_t clock_offset_ns(bootstrap::Bootstrap& bootstrap) {
  if (bootstrap.hosts().count() == 1) return 0;
  const auto start_of_clock =
      static_cast<std::int64_t>(os::clock_ns(CLOCK_REALTIME)) - static_cast<std::int64_t>(os::monotonic_ns());
  const auto all = value_or_refuse(bootstrap.all_gather(std::to_string(start_of_clock)));
  return start_of_clock - std::stoll(all.front());
}

constexpr std::size_t tools_max = 2;

// Code whose allocations stay private.
std::vector<AddressRange> private_callers(const std::vector<AddressRange>& tools) {
  // A rank starts one tool; allocations of more would be shared, which is slower.
  const auto kept = static_cast<std::ptrdiff_t>(std::min(tools.size(), tools_max));
  std::vector<AddressRange> result(tools.begin(), tools.begin() + kept);
  const AddressRange of_program = ThreadWork::code_of_run();
  for (const LoadedObject& object : loaded_objects()) {
    if (object.range.contains(of_program.begin)) {
      const std::uintptr_t after = of_program.begin + of_program.bytes;
      result.push_back({object.range.begin, of_program.begin - object.range.begin});
      result.push_back({after, object.range.begin + object.range.bytes - after});
    } else if (is_c_library(object.name)) {
      result.push_back(object.range);
    }
  }
  return result;
}

void share_heap(Job& job, const std::vector<AddressRange>& tools) {
  const runtime::Layout& layout = job.runtime.memory().layout();
  const std::size_t block = job.runtime.settings().heap_block_bytes;
  const std::size_t break_bytes =
      std::min(layout.heap_bytes_per_rank / heap_parts_per_break, break_bytes_max) / block * block;
  const heap::HeapPlace place{
      layout.heap_base, layout.heap_bytes_per_rank, job.runtime.self(), job.runtime.ranks(), block,
      break_bytes};
  job.mappings.set_break_range({layout.heap_base + layout.heap_bytes_per_rank - break_bytes, break_bytes});
  const Result<void> shared = heap::process_heap.share(place, private_callers(tools), job.messages);
  if (!shared) job.runtime.ending().abort(status_of_refusal, shared.error().message);
  job.runtime.messages().set_heap_listener(&job.messages);
  job.runtime.synchronization().set_allocations(&job.messages);
}

void start_process_objects(Job& job) {
  Result<void> opened = job.signals.open();
  if (opened) opened = job.descriptors.start(job.runtime);
  if (!opened) job.runtime.ending().abort(status_of_refusal, opened.error().message);
  const Result<void> reserved = heap::stream_memory.reserve(job.runtime.self(), job.runtime.ranks());
  if (!reserved) job.runtime.ending().abort(status_of_refusal, reserved.error().message);
  job.streams.start(job.runtime);
  job.attributes.start(job.runtime, job.locales);
  job.signals.start(job.runtime);
  job.timers.start(job.runtime);
  job.processor_times.start(job.runtime);
  job.children.start(job.runtime);
  job.keys.start(job.runtime);
  job.named_semaphores.start(job.runtime, job.mappings);
  job.threads.start(job.runtime);
  job.placement.start(job.runtime);
  job.far_calls.start(job.runtime);
  job.exit_handlers.start(job.runtime);
  const Result<void> kept = job.locales.start(job.runtime);
  if (!kept) job.runtime.ending().abort(status_of_refusal, kept.error().message);
}

std::vector<link_map*> private_objects(const LibraryChoice& choice) {
  std::vector<link_map*> result = linked_objects();
  std::erase_if(result, [&choice](const link_map* object) { return choice.is_shared(*object); });
  return result;
}

// Initialises the streams and the locale of C++ on every rank: the program's constructors, which would do it,
// run on rank 0 alone, but the library's data is private to each rank. The count of users ends as it was, and
// the last user flushes them.
void start_standard_streams() {
  char object = 0;  // of the class ios_base::Init, which has no data
  for (const char* step : {"_ZNSt8ios_base4InitC1Ev", "_ZNSt8ios_base4InitD1Ev"}) {
    const auto function = reinterpret_cast<void (*)(void*)>(::dlsym(RTLD_DEFAULT, step));
    if (function != nullptr) function(&object);
  }
}

}  // namespace

Job* current_job() noexcept {
  return own_runtime() != nullptr ? job_of_process : nullptr;
}

Job* job_of_memory() noexcept {
  return runtime_of_memory() != nullptr ? job_of_process : nullptr;
}

Job& join_job(const ProgramArguments& arguments) {
  MUSUBI_CHECK(current_job() == nullptr);
  const config::Settings settings = value_or_refuse(runtime::read_settings());
  LibraryChoice choice(settings);
  keep_tools_private(choice);
  choice.decide(linked_objects());
  run_constructors(private_objects(choice), arguments);
  start_standard_streams();
  std::unique_ptr<bootstrap::Bootstrap> bootstrap = value_or_refuse(runtime::join_job());
  const std::vector<AddressRange> tools = find_tools(choice, bootstrap->self() == Rank{0});
  set_check_prefix(("rank " + std::to_string(bootstrap->self().value)).c_str());
  leave_preloading();
  compare_images(*bootstrap, settings.start_timeout);
  const std::int64_t clock_offset = clock_offset_ns(*bootstrap);
  auto& descriptors = *new Descriptors;
  const Result<void> reserved =
      descriptors.reserve_numbers(bootstrap->self(), bootstrap->ranks(), !settings.label_output);
  if (!reserved) bootstrap->abort(status_of_refusal, reserved.error().message);
  const Globals globals = find_shared_globals(choice);
  runtime::Runtime& runtime =
      *value_or_refuse(runtime::start_runtime(settings, std::move(bootstrap),
                                              {.globals = globals.shared,
                                               .private_bytes = globals.private_bytes,
                                               .keeps_memories_apart = "OpenMP programs are one process on "
                                                                       "one host"}))
           .release();
  prepare_for_children();
  Job& job = *new Job(runtime, descriptors, *new Streams, *new Attributes, std::move(choice), arguments);
  become_rank(runtime);
  job_of_process = &job;
  for (const link_map* object : private_objects(job.choice)) job.library_locks.note(*object);
  start_process_objects(job);
  share_heap(job, tools);
  if (program_has_code_on_stacks()) runtime.memory().allow_code(runtime.memory().layout().stacks_base);
  serve_library_loads(job);
  omp::start(runtime,
             {.stacks_hold_storage = program_has_thread_storage(), .makes_tasks = program_makes_tasks()},
             clock_offset);
  // Our own malloc calls get private memory, so OpenMP asks by name for memory that threads share.
  omp::set_shared_allocator({[](std::size_t alignment, std::size_t bytes) {
                               return heap::process_heap.allocate_aligned(alignment, bytes, nullptr);
                             },
                             [](void* address) { heap::process_heap.release(address); }});
  return job;
}

}  // namespace musubi::image
