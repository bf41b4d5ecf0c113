#include "image/program_threads.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "image/job.h"
#include "image/real_function.h"
#include "os/futex.h"

namespace musubi::image {
namespace {

// Counted for pthread_exit in main, where nothing else knows of the threads.
constinit std::atomic<std::uint32_t> running{0};

struct Start {
  ThreadStart function;
  void* argument;
};

// Detaches also when the thread ends by pthread_exit or is cancelled: both unwind the stack.
struct Attachment {
  Attachment() { current_job()->runtime.attach_thread(); }
  ~Attachment() {
    current_job()->runtime.detach_thread();
    if (running.fetch_sub(1) == 1) os::futex_wake(running);
  }
};

void* run_attached(void* given) {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  const Attachment attachment;
  return start.function(start.argument);
}

}  // namespace

int create_plain_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                        void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, ThreadStart, void*);
  static const auto create = reinterpret_cast<Create>(next_definition("pthread_create"));
  return create(thread, attributes, start, argument);
}

int create_program_thread(pthread_t* thread, const pthread_attr_t* attributes, ThreadStart start,
                          void* argument) {
  if (current_job() == nullptr) return create_plain_thread(thread, attributes, start, argument);
  auto* const given = new Start{start, argument};
  running.fetch_add(1);
  const int error = create_plain_thread(thread, attributes, run_attached, given);
  if (error != 0) {
    running.fetch_sub(1);
    delete given;
  }
  return error;
}

void wait_for_program_threads() {
  for (std::uint32_t left = running.load(); left != 0; left = running.load()) os::futex_wait(running, left);
}

}  // namespace musubi::image
