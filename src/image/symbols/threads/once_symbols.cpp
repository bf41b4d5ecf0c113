// One initialisation for the whole job: pthread_once, and static variables inside C++ functions.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>

#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/shared_word.h"
#include "image/symbols/threads/word_wait.h"
#include "omp/backoff.h"
#include "omp/thread.h"

namespace {

using namespace musubi::image;

enum State : std::uint32_t { untouched = 0, running = 1, done = 2 };

template <class Wait>
bool begin_once(const SharedWord& state, Wait wait) {
  while (true) {
    const std::uint32_t seen = state.compare_exchange(untouched, running);
    if (seen == running) {
      wait.pause();
      continue;
    }
    state.acquire();
    return seen == untouched;
  }
}

// Result: whether the caller must do the work; otherwise it has been done, and its writes are visible.
bool begin_once(const SharedWord& state) {
  using musubi::runtime::Wait;
  return state.is_of_job() ? begin_once(state, WordWait(state.address(), Wait::once))
                           : begin_once(state, musubi::omp::Backoff(Wait::once));
}

void end_once(const SharedWord& state, State now) {
  state.release(now);
  if (state.is_of_job()) wake_waiters(state.address());
}

// Resets the state if an exception ends the work.
class OnceAttempt {
 public:
  explicit OnceAttempt(const SharedWord& state) : state_(state) {}
  OnceAttempt(const OnceAttempt&) = delete;
  ~OnceAttempt() { end_once(state_, succeeded_ ? done : untouched); }
  void succeed() { succeeded_ = true; }

 private:
  const SharedWord& state_;
  bool succeeded_ = false;
};

// Variables that this rank knows to be initialised. Code of the compiler tests the first byte of a guard.
// This byte stays zero for variables in shared memory: a thread that found it set would not get the writes of
// the initialisation.
class KnownGuards {
 public:
  bool contains(const void* guard) const noexcept {
    return places_[place(guard)].load(std::memory_order_acquire) == guard;
  }
  // Replaces an older entry, whose guard is then looked up in shared memory again.
  void add(const void* guard) noexcept { places_[place(guard)].store(guard, std::memory_order_release); }

 private:
  static constexpr unsigned bits = 12;
  static std::size_t place(const void* guard) noexcept {
    return (reinterpret_cast<std::uintptr_t>(guard) >> 3) * 0x9e3779b97f4a7c15u >> (64 - bits);
  }
  std::array<std::atomic<const void*>, std::size_t{1} << bits> places_{};
};

// A global cache: guards are used before the job exists, and identified by their addresses alone.
constinit KnownGuards known_guards;

// Guards in private memory follow the rules of libstdc++, whose code may use the same ones.
constexpr std::uint32_t private_done = 1, private_running = 0x100, private_waited_for = 0x10000;

void end_private(std::uint32_t* guard, std::uint32_t value) {
  if ((__atomic_exchange_n(guard, value, __ATOMIC_ACQ_REL) & private_waited_for) == 0) return;
  ::syscall(SYS_futex, guard, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

int begin_private(std::uint32_t* guard) {
  musubi::omp::Backoff backoff(musubi::runtime::Wait::once);
  while (true) {
    std::uint32_t seen = 0;
    if (__atomic_compare_exchange_n(guard, &seen, private_running, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return 1;
    }
    if ((seen & private_done) != 0) return 0;
    backoff.pause();
  }
}

}  // namespace

MUSUBI_EXPORT int pthread_once(pthread_once_t* control, void (*function)()) {
  using Once = int (*)(pthread_once_t*, void (*)());
  static constinit Next<Once> next("pthread_once");
  const FileObject file(control);
  if (job_that_shares(control) == nullptr && !is_of_parent(control) && !file) {
    return next.get()(control, function);
  }
  musubi::omp::note_stack(__builtin_frame_address(0));
  const SharedWord state(reinterpret_cast<std::uint32_t*>(control));
  if (begin_once(state)) {
    OnceAttempt attempt(state);
    function();
    file.release();
    attempt.succeed();
  }
  file.acquire();
  return 0;
}

// In glibc C11's call_once is pthread_once under another name.
MUSUBI_EXPORT void call_once(once_flag* flag, void (*function)()) {
  ::pthread_once(reinterpret_cast<pthread_once_t*>(flag), function);
}

// Names of the C++ ABI. A guard has 8 bytes; its second half holds our state.
MUSUBI_EXPORT int __cxa_guard_acquire(std::uint32_t* guard) {
  if (job_that_shares(guard) == nullptr && !is_of_parent(guard)) return begin_private(guard);
  // The first byte may be set by the program's constructors; zero does not mean uninitialised.
  if (known_guards.contains(guard) || (__atomic_load_n(guard, __ATOMIC_ACQUIRE) & private_done) != 0)
    return 0;
  musubi::omp::note_stack(__builtin_frame_address(0));
  if (begin_once(SharedWord(guard + 1))) return 1;
  known_guards.add(guard);
  return 0;
}

MUSUBI_EXPORT void __cxa_guard_release(std::uint32_t* guard) noexcept {
  if (job_that_shares(guard) == nullptr && !is_of_parent(guard)) return end_private(guard, private_done);
  musubi::omp::note_stack(__builtin_frame_address(0));
  end_once(SharedWord(guard + 1), done);
  known_guards.add(guard);
}

MUSUBI_EXPORT void __cxa_guard_abort(std::uint32_t* guard) noexcept {
  if (job_that_shares(guard) == nullptr && !is_of_parent(guard)) return end_private(guard, 0);
  musubi::omp::note_stack(__builtin_frame_address(0));
  end_once(SharedWord(guard + 1), untouched);
}
