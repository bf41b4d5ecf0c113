#include "omp/events.h"

#include <utility>

#include "omp/thread.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp::events {

constinit bool heard = false;
constinit Listener* listener = nullptr;
constinit StartOfTool start_of_tool = nullptr;
constinit thread_local Entry entry{};

void start_tool_now() {
  std::exchange(start_of_tool, nullptr)();
}

void note_heard_entry(const void* frame, const void* call_site) noexcept {
  // A wrapper's tail call leads back to the runtime itself.
  const auto* const place = static_cast<const char*>(call_site);
  if (place >= runtime::__ehdr_start && place < runtime::etext) return;
  entry = {frame, call_site};
}

void heard_loop_begins(const LoopSpecification& loop) noexcept {
  if (loop.one_by_one) return listener->work_begins(Work::sections, loop.space.count);
  switch (loop.schedule) {
    case Schedule::static_chunks:
      return listener->work_begins(Work::loop_static, loop.space.count);
    case Schedule::dynamic:
      return listener->work_begins(Work::loop_dynamic, loop.space.count);
    case Schedule::guided:
      return listener->work_begins(Work::loop_guided, loop.space.count);
    case Schedule::automatic:
      break;
  }
  listener->work_begins(Work::loop_other, loop.space.count);
}

void heard_chunk(const ImplicitTask& task) noexcept {
  const Loop& loop = task.loop;
  listener->chunk(loop.specification.space.value_at(loop.chunk.first),
                  loop.specification.one_by_one ? 0 : loop.chunk.last - loop.chunk.first);
}

}  // namespace musubi::omp::events
