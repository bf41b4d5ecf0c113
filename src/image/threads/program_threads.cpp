#include "image/threads/program_threads.h"

#include <limits.h>

#include <atomic>
#include <cerrno>
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
constinit std::atomic<std::uint64_t> begun{0};

struct Start {
  ThreadWork work;
  std::optional<runtime::ThreadStack> stack;
  ThreadPlaces* places = nullptr;        // null: it has no place
  std::optional<CarriedThread> carried;  // its creator is at another rank
};

void note_beginning() {
  begun.fetch_add(1);
  running.fetch_add(1);
  own_runtime()->threads().add_outsider();
}

void thread_has_ended() {
  own_runtime()->threads().remove_outsider();
  if (running.fetch_sub(1) == 1) os::futex_wake(running);
}

// The destructor of a pthread key: it runs after the thread has returned, called pthread_exit or been
// cancelled, and after its C++ thread_local objects were destroyed. Destructors of the program's keys may
// touch shared memory, too: this one asks to be called again, and detaches the thread in the last round that
// POSIX guarantees. exit() does not run it, and the thread continues then.
void end_thread(void* end);
struct End {
  int rounds = _POSIX_THREAD_DESTRUCTOR_ITERATIONS;
  ThreadPlaces* places;
};

pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const int error = ::pthread_key_create(&made, end_thread);
    MUSUBI_CHECK(error == 0, "pthread_key_create: error %d", error);
    return made;
  }();
  return key;
}

void end_later(End* end) {
  const int error = ::pthread_setspecific(end_key(), end);
  MUSUBI_CHECK(error == 0, "pthread_setspecific: error %d", error);
}

void end_thread(void* given) {
  auto* const end = static_cast<End*>(given);
  if (--end->rounds != 0) return end_later(end);
  // Pairs with the acquire of a thread of another rank that joins this one.
  const pthread_t self = ::pthread_self();
  if (is_joinable(self)) own_runtime()->synchronization().release(channel_of(self));
  if (end->places != nullptr) end->places->give_back_own_place();
  delete end;
  own_runtime()->threads().detach();
  thread_has_ended();
}

// First, before a cancellation can end the thread.
void attach(ThreadPlaces* places) {
  end_later(new End{.places = places});
  own_runtime()->threads().attach();
}

void* run_attached(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  if (start.stack) note_thread_on(*start.stack);
  attach(start.places);
  runtime::Synchronization& synchronization = own_runtime()->synchronization();
  if (start.carried) {
    synchronization.run_beside_barriers();
    synchronization.acquire(start.carried->channel);
  } else {
    synchronization.run_between_regions();
  }
  if (start.stack) omp::adopt_stack(*start.stack, __builtin_frame_address(0));
  if (start.carried) start.carried->take_over();
  return start.work.run();
}

// Before the job exists.
void* run_plainly(void* given) {
  const ThreadWork work = *static_cast<ThreadWork*>(given);
  delete static_cast<ThreadWork*>(given);
  return work.run();
}

int create_counted(pthread_t* thread, const pthread_attr_t* attributes, const Start& start) {
  auto* const given = new Start(start);
  note_beginning();
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

int create_program_thread(pthread_t* thread, const pthread_attr_t* attributes, const ThreadWork& work) {
  Start start{work, {}, nullptr, {}};
  if (own_runtime() != nullptr) {
    start.stack = take_stack_for(attributes);
    return create_counted(thread, attributes, start);
  }
  auto* const given = new ThreadWork(work);
  const int error = create_plain_thread(thread, attributes, run_plainly, given);
  if (error != 0) delete given;
  return error;
}

int create_private_thread(pthread_t* thread, ThreadStart start, void* argument) {
  return create_counted(thread, nullptr, {ThreadWork(start, argument), {}, nullptr, {}});
}

int create_placed_thread(pthread_t* thread, const pthread_attr_t* attributes, const ThreadWork& work,
                         ThreadPlaces& places) {
  const auto stack = take_stack_for(attributes);
  return stack ? create_counted(thread, attributes, {work, stack, &places, {}}) : EAGAIN;
}

int create_carried_thread(pthread_t* thread, const CarriedThread& carried, ThreadPlaces& places) {
  pthread_attr_t attributes;
  carried.fill(attributes);
  const auto stack = take_stack_for(&attributes);
  const int error =
      stack ? create_counted(thread, &attributes, {carried.work, stack, &places, carried}) : EAGAIN;
  ::pthread_attr_destroy(&attributes);
  return error;
}

void begin_program_thread() {
  note_beginning();
  attach(nullptr);
  own_runtime()->synchronization().run_between_regions();
}

ThreadCount count_program_threads() noexcept {
  return {running.load(), begun.load()};
}

void wait_for_program_threads() {
  for (std::uint32_t left = running.load(); left != 0; left = running.load()) os::futex_wait(running, left);
}

}  // namespace musubi::image
