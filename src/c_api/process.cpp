#include "c_api/process.h"

#include <stdlib.h>
#include <unistd.h>

#include "bootstrap/local/local_bootstrap.h"
#include "config/configuration.h"
#include "config/environment.h"
#include "image/heap.h"
#include "image/solo_bootstrap.h"

namespace musubi::c_api {
namespace {

constinit std::atomic<Process*> process{nullptr};

Result<std::unique_ptr<bootstrap::Bootstrap>> join_launcher() {
  using Joined = Result<std::unique_ptr<bootstrap::Bootstrap>>;
  if (!bootstrap::LocalBootstrap::invited()) return Joined(std::make_unique<image::SoloBootstrap>());
  auto joined = bootstrap::LocalBootstrap::join();
  if (!joined) return joined.error();
  // What the program starts is an ordinary process.
  ::unsetenv(config::job_variable);
  return Joined(std::move(joined).value());
}

Result<void> share_heap(Process& joined) {
  const runtime::Layout& layout = joined.runtime.memory().layout();
  const image::HeapPlace place{layout.heap_base, layout.heap_bytes_per_rank, joined.runtime.self(),
                               joined.runtime.ranks(), joined.runtime.settings().heap_block_bytes};
  if (auto shared = image::heap.share(place, {}, joined.messages); !shared) return shared;
  joined.runtime.messages().set_heap_listener(&joined.messages);
  // Nobody may free memory of a rank that does not listen yet.
  runtime::BarrierPayload nothing{};
  joined.runtime.synchronization().barrier(nothing);
  return {};
}

}  // namespace

std::uint32_t LockHolders::this_thread() noexcept {
  return static_cast<std::uint32_t>(::gettid());
}

Process::Process(std::unique_ptr<runtime::Runtime> started)
    : owner(std::move(started)),
      runtime(*owner),
      mapped_memory(image::heap),
      messages(runtime, image::heap, mapped_memory) {}

Process* current_process() noexcept {
  return process.load(std::memory_order_acquire);
}

Result<void> join() {
  config::Configuration configuration;
  if (auto read = config::read_environment(configuration); !read) return read;
  auto bootstrap = join_launcher();
  if (!bootstrap) return bootstrap.error();
  auto started = runtime::Runtime::start(configuration.settings(), std::move(bootstrap).value(), {}, {});
  if (!started) return started.error();
  auto joined = std::make_unique<Process>(std::move(started).value());
  runtime::set_current_runtime(&joined->runtime);
  if (auto shared = share_heap(*joined); !shared) return shared;
  process.store(joined.release(), std::memory_order_release);
  return {};
}

void let_go() noexcept {
  process.store(nullptr, std::memory_order_release);
}

}  // namespace musubi::c_api
