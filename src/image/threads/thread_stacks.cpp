#include "image/threads/thread_stacks.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <vector>

#include "image/process/own_rank.h"
#include "image/process/real_function.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

struct Use {
  enum class State : std::uint8_t { none, joinable, detached };
  State state = State::none;
  pid_t thread = 0;  // the kernel's id; 0: not started
  runtime::ThreadStack stack{};
};

// Indexed by slot. The C library does not report the end of a detached thread.
constinit std::mutex guard;
constinit std::vector<Use>* uses = nullptr;

// REQUIRES for these functions: `guard` is held.
Use& use_of(std::size_t slot) {
  if (uses == nullptr) uses = new std::vector<Use>;
  if (slot >= uses->size()) uses->resize(slot + 1);
  return (*uses)[slot];
}

// Null: not on such a stack of this rank.
Use* find_use(pthread_t thread) {
  runtime::Runtime& runtime = *own_runtime();
  const runtime::Layout& layout = runtime.memory().layout();
  const std::uintptr_t base =
      layout.stacks_base + runtime.self().value * layout.stack_slots_per_rank * layout.stack_slot_bytes;
  const std::size_t slot = (static_cast<std::uintptr_t>(thread) - base) / layout.stack_slot_bytes;
  if (slot >= layout.stack_slots_per_rank) return nullptr;
  Use& use = use_of(slot);
  return use.state == Use::State::none ? nullptr : &use;
}

void end_use(Use& use) {
  own_runtime()->threads().give_back_stack(use.stack);
  use = {};
}

// The kernel no longer uses a thread's memory once the thread's id is gone.
void collect_ended() {
  if (uses == nullptr) return;
  const long process = os::system_call(SYS_getpid);
  for (Use& use : *uses) {
    if (use.state == Use::State::detached && use.thread != 0 &&
        os::system_call(SYS_tgkill, process, use.thread, 0) == -ESRCH) {
      end_use(use);
    }
  }
}

}  // namespace

int create_plain_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                        void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, ThreadStart, void*);
  static const auto create = reinterpret_cast<Create>(next_definition("pthread_create"));
  return create(thread, attributes, start, argument);
}

bool has_stack_of_job(const pthread_attr_t* attributes) {
  if (attributes == nullptr) return true;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (::pthread_attr_getstack(attributes, &low, &bytes) != 0) return false;
  // If the program supplies no stack, the C library reports an end of 0.
  const bool brings_one = reinterpret_cast<std::uintptr_t>(low) + bytes != 0;
  const runtime::Layout& layout = own_runtime()->memory().layout();
  const std::size_t guard_bytes = own_runtime()->memory().layout().stack_guard_bytes;
  return !brings_one && bytes <= layout.stack_slot_bytes - guard_bytes;
}

std::optional<runtime::ThreadStack> take_stack_for(const pthread_attr_t* attributes) {
  if (!runs_over_ranks() || !has_stack_of_job(attributes)) return {};
  const std::lock_guard held(guard);
  collect_ended();
  return own_runtime()->threads().take_spare_stack();
}

void give_back_stack(const runtime::ThreadStack& stack) {
  const std::lock_guard held(guard);
  use_of(stack.slot) = {};
  own_runtime()->threads().give_back_stack(stack);
}

int create_on_stack(const runtime::ThreadStack& stack, pthread_t* thread, const pthread_attr_t* attributes,
                    void* (*start)(void*), void* argument) {
  // Objects that the attributes refer to (a mask, a set of processors) still belong to the attributes.
  pthread_attr_t wanted;
  ::pthread_attr_init(&wanted);
  if (attributes != nullptr) wanted = *attributes;
  ::pthread_attr_setstack(&wanted, stack.low, static_cast<std::size_t>(stack.high - stack.low));
  int state = PTHREAD_CREATE_JOINABLE;
  ::pthread_attr_getdetachstate(&wanted, &state);
  {
    const std::lock_guard held(guard);
    const bool detached = state == PTHREAD_CREATE_DETACHED;
    use_of(stack.slot) = {detached ? Use::State::detached : Use::State::joinable, 0, stack};
  }
  return create_plain_thread(thread, &wanted, start, argument);
}

void note_thread_on(const runtime::ThreadStack& stack) {
  const std::lock_guard held(guard);
  use_of(stack.slot).thread = ::gettid();
}

void note_joined(pthread_t thread) {
  const std::lock_guard held(guard);
  if (Use* const use = find_use(thread)) end_use(*use);
}

void note_detached(pthread_t thread) {
  const std::lock_guard held(guard);
  if (Use* const use = find_use(thread)) use->state = Use::State::detached;
}

bool is_joinable(pthread_t thread) {
  const std::lock_guard held(guard);
  const Use* const use = find_use(thread);
  return use != nullptr && use->state == Use::State::joinable;
}

}  // namespace musubi::image
