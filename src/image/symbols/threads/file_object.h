// Objects of POSIX in files that all ranks of one host map: the C library's own serve them, as they serve
// processes that share a file. The ranks' other memory follows what is passed on by such an object.
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

  // Whether the object lies in such a file.
  explicit operator bool() const noexcept { return job_ != nullptr; }
  // The next thread that takes the object can read what this one has written.
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

// Calls `function` of the C library, by which the calling thread takes `object`. `mark`: sets the field by
// which the C library knows an object that several processes use. Result: that of the function.
template <class Object, class Mark, class Function, class... Arguments>
int take_plain(Object* object, Mark mark, Function function, Arguments... arguments) {
  const FileObject file(object);
  if (file) mark(*object);
  const int result = function(object, arguments...);
  if (result == 0) file.acquire();
  return result;
}
// The same for one by which it gives the object back.
template <class Object, class Mark, class Function>
int give_back_plain(Object* object, Mark mark, Function function) {
  const FileObject file(object);
  if (file) mark(*object);
  file.release();
  return function(object);
}

}  // namespace musubi::image
