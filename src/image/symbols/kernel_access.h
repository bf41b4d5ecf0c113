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

// The memory and the descriptors that one call names. Null pointers and private memory are skipped. Blocks
// until the memory is open and the descriptors are usable (image/objects/descriptors.h).
class KernelAccess {
 public:
  explicit KernelAccess(Job& job) noexcept : job_(job) {}

  KernelAccess& file(int number) noexcept;
  // For calls that report errors in their own way: the call itself finds that the descriptor is not open.
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
  // A null-terminated list.
  KernelAccess& texts(const char* const* list) noexcept;
  KernelAccess& reads_parts(const iovec* parts, long count) noexcept {
    return touch_parts(parts, count, false);
  }
  KernelAccess& writes_parts(const iovec* parts, long count) noexcept {
    return touch_parts(parts, count, true);
  }
  KernelAccess& message(const msghdr* message, bool for_writing) noexcept;
  // `bytes` points to the capacity, and is written, too.
  KernelAccess& result_of_varying_size(void* pointer, socklen_t* bytes) noexcept;

  KernelAccess& messages(const mmsghdr* list, unsigned count, bool for_writing) noexcept;

  // Memory whose size or kind depends on other arguments or on its contents (kernel_access_by_command.cpp).
  // Unknown commands name no memory.
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

  // The call creates a stream of the C library.
  KernelAccess& makes_stream() noexcept {
    stream_allocation_.emplace();
    return *this;
  }

  // The call starts a program, which must not inherit the calling thread's binding.
  KernelAccess& starts_program() noexcept {
    unbound_.emplace();
    return *this;
  }

  // The rank of another host that has the call's files open; none: they are on this host.
  std::optional<Rank> far() const noexcept { return far_; }
  // The files are on several hosts: no host can run the call.
  bool has_files_of_hosts() const noexcept { return far_ && has_near_file_; }
  bool is_regular() const noexcept { return is_regular_; }
  // From here on memory is recorded in `call`, and not opened.
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
  std::optional<heap::StreamMemory::StreamAllocation> stream_allocation_;
  std::optional<os::Unbound> unbound_;
};

// Bytes of a set in whole words, as the kernel takes it: of descriptors below `end`, or of `count` bits.
inline std::size_t bytes_of_set(int end) noexcept {
  return end <= 0 ? 0 : (static_cast<std::size_t>(end) + 63) / 64 * 8;
}
inline std::size_t bytes_of_bits(unsigned long count) noexcept {
  constexpr unsigned long bits_max = 1 << 15;  // a page: the kernel refuses more
  return (std::min(count, bits_max) + 63) / 64 * 8;
}

}  // namespace musubi::image
