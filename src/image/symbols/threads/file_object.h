// POSIX objects in files that all ranks of one host map: the C library's own code serves them, as for
// processes that share a file. Passing such an object on also makes earlier writes to the ranks' other memory
// visible.
#pragma once

#include <cstdint>

#include "image/start/job.h"

namespace musubi::image {

class FileObject {
 public:
  explicit FileObject(const volatile void* object) noexcept
      : channel_(reinterpret_cast<std::uintptr_t>(object)), job_(current_job()) {
    if (job_ != nullptr &&
        !(job_->program_runs() && job_->mappings.is_in_file(const_cast<const void*>(object))))
      job_ = nullptr;
  }

  // Whether the object is in such a file.
  explicit operator bool() const noexcept { return job_ != nullptr; }
  // The next thread that takes the object can read this thread's writes.
  void release() const {
    if (job_ != nullptr) job_->runtime.synchronization().release(channel_);
  }
  void acquire() const {
    if (job_ != nullptr) job_->runtime.synchronization().acquire(channel_);
  }

 private:
  const std::uint64_t channel_;
  Job* job_;
};

// Calls `function` of the C library, by which the calling thread takes `object`. `mark`: sets the field that
// tells the C library that several processes use an object. Result: the function's.
template <class Object, class Mark, class Function, class... Arguments>
int take_plain(Object* object, Mark mark, Function function, Arguments... arguments) {
  const FileObject file(object);
  if (file) mark(*object);
  const int result = function(object, arguments...);
  if (result == 0) file.acquire();
  return result;
}
// The same for a function that gives the object back.
template <class Object, class Mark, class Function>
int give_back_plain(Object* object, Mark mark, Function function) {
  const FileObject file(object);
  if (file) mark(*object);
  file.release();
  return function(object);
}

}  // namespace musubi::image
