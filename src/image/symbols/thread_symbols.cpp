#include "image/loaded_objects.h"
#include "image/program_threads.h"
#include "image/symbols/exported.h"

namespace {

// Threads of ours (of the runtime, of the OpenMP teams) see to their own attachment. Our code lies in one
// piece around this function; `__ehdr_start` and `_end` are the linker's names for its ends.
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
