#include <threads.h>

#include <cerrno>
#include <cstdint>

#include "image/libraries/loaded_objects.h"
#include "image/symbols/exported.h"
#include "image/threads/program_threads.h"

namespace {

// Threads of this library (of the runtime, of the OpenMP teams) attach themselves. Our code is contiguous;
// `__ehdr_start` and `_end` are the linker's symbols for its bounds.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));

bool is_ours(const void* caller) {
  return caller >= __ehdr_start && caller < _end;
}

}  // namespace

MUSUBI_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                 musubi::image::ThreadStart start, void* argument) noexcept {
  if (is_ours(MUSUBI_CALLER)) {
    return musubi::image::create_plain_thread(thread, attributes, start, argument);
  }
  return musubi::image::create_program_thread(thread, attributes, start, argument);
}

namespace {

struct StandardStart {
  thrd_start_t function;
  void* argument;
};

// thrd_join(3) takes the status from the pointer that pthread_join(3) returns.
void* run_standard_thread(void* given) {
  const StandardStart start = *static_cast<StandardStart*>(given);
  delete static_cast<StandardStart*>(given);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(start.function(start.argument)));
}

}  // namespace

// The C library's own version does not call pthread_create.
MUSUBI_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto* const given = new StandardStart{function, argument};
  const int error = musubi::image::create_program_thread(thread, nullptr, run_standard_thread, given);
  if (error == 0) return thrd_success;
  delete given;
  return error == ENOMEM || error == EAGAIN ? thrd_nomem : thrd_error;
}
