#include "runtime/api/thread_end.h"

#include <limits.h>
#include <pthread.h>

#include "base/check.h"

namespace musubi::runtime {
namespace {

thread_local constinit int rounds_of_thread = 0;

void detach_in_last_round(void* threads) noexcept;

pthread_key_t key_of_ends() noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const int error = ::pthread_key_create(&made, detach_in_last_round);
    MUSUBI_CHECK(error == 0, "pthread_key_create: error %d", error);
    return made;
  }();
  return key;
}

void ask_for_round(void* threads) noexcept {
  const int error = ::pthread_setspecific(key_of_ends(), threads);
  MUSUBI_CHECK(error == 0, "pthread_setspecific: error %d", error);
}

// Destructors of the program's keys may set values again, as often as POSIX guarantees.
void detach_in_last_round(void* threads) noexcept {
  if (--rounds_of_thread > 0) return ask_for_round(threads);
  static_cast<Threads*>(threads)->detach();
}

}  // namespace

void detach_at_end(Threads& threads) noexcept {
  rounds_of_thread = _POSIX_THREAD_DESTRUCTOR_ITERATIONS;
  ask_for_round(&threads);
}

}  // namespace musubi::runtime
