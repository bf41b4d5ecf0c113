#include "image/threads/program_threads.h"

#include <limits.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "base/check.h"
#include "image/process/own_rank.h"
#include "image/threads/thread_calls.h"
#include "image/threads/thread_stacks.h"
#include "omp/thread.h"
#include "os/binding.h"
#include "os/futex.h"

namespace musubi::image {
namespace {

// Counted for pthread_exit in main, which waits for them.
constinit std::atomic<std::uint32_t> running{0};

struct Start {
  ThreadStart function;
  void* argument;
  std::optional<runtime::ThreadStack> stack;
};

void thread_has_ended() {
  own_runtime()->threads().remove_outsider();
  if (running.fetch_sub(1) == 1) os::futex_wake(running);
}

// The destructor of a pthread key: it runs after the thread has returned, called pthread_exit or been
// cancelled, and after its C++ thread_local objects were destroyed. Destructors of the program's keys may
// touch shared memory, too: this one asks to be called again, and detaches the thread in the last round that
// POSIX guarantees. exit() does not run it, and the thread continues then.
void end_thread(void* rounds);

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const int error = ::pthread_key_create(&made, end_thread);
    MUSUBI_CHECK(error == 0, "pthread_key_create: error %d", error);
    return made;
  }();
  return key;
}

void end_after(std::uintptr_t rounds) {
  const int error = ::pthread_setspecific(end_key(), reinterpret_cast<void*>(rounds));
  MUSUBI_CHECK(error == 0, "pthread_setspecific: error %d", error);
}

void end_thread(void* rounds) {
  const auto left = reinterpret_cast<std::uintptr_t>(rounds) - 1;
  if (left != 0) return end_after(left);
  // Pairs with the acquire of a thread of another rank that joins this one.
  const pthread_t self = ::pthread_self();
  if (is_joinable(self)) own_runtime()->synchronization().release(channel_of(self));
  own_runtime()->threads().detach();
  thread_has_ended();
}

void attach() {
  end_after(_POSIX_THREAD_DESTRUCTOR_ITERATIONS);  // before a cancellation can end the thread
  own_runtime()->threads().attach();
  own_runtime()->synchronization().run_between_regions();
}

void* run_attached(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  if (start.stack) note_thread_on(*start.stack);
  attach();
  if (start.stack) omp::adopt_stack(*start.stack, __builtin_frame_address(0));
  return start.function(start.argument);
}

int create_counted(pthread_t* thread, const pthread_attr_t* attributes, const Start& start) {
  auto* const given = new Start(start);
  running.fetch_add(1);
  own_runtime()->threads().add_outsider();
  const os::Unbound unbound;
  const int error = start.stack ? create_on_stack(*start.stack, thread, attributes, run_attached, given)
                                : create_plain_thread(thread, attributes, run_attached, given);
  if (error != 0) {
    if (start.stack) give_back_stack(*start.stack);
    thread_has_ended();
    delete given;
  }
  return error;
}

}  // namespace

int create_program_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                          void* argument) {
  if (own_runtime() == nullptr) return create_plain_thread(thread, attributes, start, argument);
  return create_counted(thread, attributes, {start, argument, take_stack_for(attributes)});
}

int create_private_thread(pthread_t* thread, ThreadStart start, void* argument) {
  return create_counted(thread, nullptr, {start, argument, {}});
}

void begin_program_thread() {
  running.fetch_add(1);
  own_runtime()->threads().add_outsider();
  attach();
}

bool has_program_threads() noexcept {
  return running.load() != 0;
}

void wait_for_program_threads() {
  for (std::uint32_t left = running.load(); left != 0; left = running.load()) os::futex_wait(running, left);
}

}  // namespace musubi::image
