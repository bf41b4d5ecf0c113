#include "runtime/api/threads.h"

#include "base/check.h"

namespace musubi::runtime {
namespace {

struct AdoptedStack {
  Threads* threads = nullptr;  // null: the thread has no stack in the shared range
  std::size_t slot = 0;
  const void* low = nullptr;
  const void* end = nullptr;
};

// Thread-local because calls from the program carry no handle of their thread.
constinit thread_local AdoptedStack stack_of_thread;

}  // namespace

void adopt_stack(Threads& threads, const ThreadStack& stack, const void* end) {
  MUSUBI_CHECK(end >= stack.low && end <= stack.high);
  stack_of_thread = {&threads, stack.slot, stack.low, end};
}

void forget_stack() noexcept {
  stack_of_thread.threads = nullptr;
}

void note_stack(const void* frame) noexcept {
  const AdoptedStack& stack = stack_of_thread;
  if (stack.threads == nullptr || frame < stack.low || frame >= stack.end) return;
  stack.threads->note_stack(stack.slot, frame, stack.end);
}

}  // namespace musubi::runtime
