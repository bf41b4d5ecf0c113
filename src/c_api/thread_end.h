// Work to do when a thread ends, by a key of POSIX threads. Not by thread_local objects with destructors:
// these are destroyed before the destructors of the program's own keys run, which may call us.
#pragma once

#include <pthread.h>

#include "base/check.h"

namespace musubi::c_api {

// One for each use, made once and kept: threads may outlive main.
class ThreadEnd {
 public:
  // `work` is called at the end of each thread that has called expect(), on that thread.
  explicit ThreadEnd(void (*work)()) : work_(work) {
    MUSUBI_CHECK(::pthread_key_create(&key_, &ThreadEnd::end) == 0, "no key for what threads keep is left");
  }
  ThreadEnd(const ThreadEnd&) = delete;
  ThreadEnd& operator=(const ThreadEnd&) = delete;

  // Called by the thread itself, once, and again after `work` has run if more is to be done. No effect on the
  // thread that ends the process by exit(): the job is over then.
  void expect() { MUSUBI_CHECK(::pthread_setspecific(key_, this) == 0); }

 private:
  static void end(void* self) { static_cast<ThreadEnd*>(self)->work_(); }

  void (*const work_)();
  ::pthread_key_t key_{};
};

}  // namespace musubi::c_api
