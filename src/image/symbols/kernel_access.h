// Opens shared memory for a system call that is about to read or write it.
#pragma once

#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "image/start/job.h"
#include "os/binding.h"

struct file_handle;
struct iocb;

namespace musubi::image {

// The memory and the descriptors that one call names. Null pointers and private memory are passed over.
// Blocks until memory is open, and descriptors stand here for what they stand for in the job.
class KernelAccess {
 public:
  explicit KernelAccess(Job& job) noexcept : job_(job) {}

  KernelAccess& file(int number) noexcept;
  // For calls that report errors in their own way: one that is not open is for the call to find.
  KernelAccess& file_if_open(int number) noexcept;
  KernelAccess& files(const pollfd* list, nfds_t count) noexcept;
  KernelAccess& files(const fd_set* set, int end) noexcept;

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

  KernelAccess& messages(const mmsghdr* list, unsigned count, bool for_writing) noexcept;

  // Memory whose size or kind depends on other arguments, or on what it says itself
  // (kernel_access_by_command.cpp). Commands that are not known name no memory.
  KernelAccess& handle(const file_handle* handle) noexcept;
  KernelAccess& sized_mask(const void* mask) noexcept;  // {const void*, size_t}
  KernelAccess& requests(iocb* const* list, long count) noexcept;
  KernelAccess& parts_there(pid_t process, const iovec* parts, unsigned long count,
                            bool for_writing) noexcept;
  KernelAccess& setting_of_file_system(unsigned command, const void* value, int number) noexcept;
  KernelAccess& quota(int command, void* data) noexcept;
  KernelAccess& process_option(int option, unsigned long first, unsigned long second) noexcept;
  KernelAccess& traced(int request, const void* address, void* data) noexcept;
  KernelAccess& semaphores(int set, int command, void* argument) noexcept;
  KernelAccess& key(int operation, unsigned long a, unsigned long b, unsigned long c) noexcept;
  KernelAccess& seccomp(unsigned operation, const void* argument) noexcept;

  // The call makes a stream of the C library.
  KernelAccess& makes_stream() noexcept {
    making_.emplace();
    return *this;
  }

  // The call starts a program, which is not bound as the calling thread is.
  KernelAccess& starts_program() noexcept {
    unbound_.emplace();
    return *this;
  }

  // The rank of another host that has the files of this call open; none: they are here.
  std::optional<Rank> far() const noexcept { return far_; }
  // Files of several hosts: no host can run the call.
  bool has_files_of_hosts() const noexcept { return far_ && has_near_file_; }
  bool is_regular() const noexcept { return is_regular_; }
  // From here on memory is noted in `call`, and not opened.
  void note_in(FarCall& call) noexcept { noted_in_ = &call; }

  bool met_shared() const noexcept { return met_shared_; }
  // A descriptor is not open in the job.
  bool bad_file() const noexcept { return bad_file_; }

 private:
  KernelAccess& touch(const void* pointer, std::size_t bytes, bool for_writing) noexcept;
  KernelAccess& touch_parts(const iovec* parts, long count, bool for_writing) noexcept;

  Job& job_;
  bool met_shared_ = false;
  bool bad_file_ = false;
  std::optional<Rank> far_;
  bool has_near_file_ = false;  // or far ones of two ranks
  bool is_regular_ = false;
  FarCall* noted_in_ = nullptr;
  std::optional<heap::StreamMemory::Making> making_;
  std::optional<os::Unbound> unbound_;
};

// Whole words of sets, as the kernel takes them: of descriptors below `end`, of `count` bits.
inline std::size_t bytes_of_set(int end) noexcept {
  return end <= 0 ? 0 : (static_cast<std::size_t>(end) + 63) / 64 * 8;
}
inline std::size_t bytes_of_bits(unsigned long count) noexcept {
  constexpr unsigned long bits_max = 1 << 15;  // a page: more is refused by the kernel
  return (std::min(count, bits_max) + 63) / 64 * 8;
}

}  // namespace musubi::image
