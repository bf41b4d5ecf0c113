// Opens shared memory for a system call that is about to read or write it.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>

#include "image/job.h"

namespace musubi::image {

// The memory that one call names. Null pointers and private memory are passed over. Blocks until memory is
// open.
class KernelAccess {
 public:
  explicit KernelAccess(runtime::Runtime& runtime) noexcept : runtime_(runtime) {}

  KernelAccess& reads(const void* pointer, std::size_t bytes) noexcept {
    return touch(pointer, bytes, false);
  }
  KernelAccess& writes(const void* pointer, std::size_t bytes) noexcept {
    return touch(pointer, bytes, true);
  }
  KernelAccess& text(const char* text) noexcept;
  // A list that ends with null.
  KernelAccess& texts(const char* const* list) noexcept;
  KernelAccess& reads_parts(const iovec* parts, long count) noexcept {
    return touch_parts(parts, count, false);
  }
  KernelAccess& writes_parts(const iovec* parts, long count) noexcept {
    return touch_parts(parts, count, true);
  }
  KernelAccess& message(const msghdr* message, bool for_writing) noexcept;
  // `bytes` says how much fits, and is written, too.
  KernelAccess& result_of_varying_size(void* pointer, socklen_t* bytes) noexcept;

  bool met_shared() const noexcept { return met_shared_; }

 private:
  KernelAccess& touch(const void* pointer, std::size_t bytes, bool for_writing) noexcept;
  KernelAccess& touch_parts(const iovec* parts, long count, bool for_writing) noexcept;

  runtime::Runtime& runtime_;
  bool met_shared_ = false;
};

}  // namespace musubi::image
