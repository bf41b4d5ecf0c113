// Waits for many files at once (epoll). A file is identified by a subject, which the caller defines, and an
// index. One thread.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <optional>
#include <span>

#include "os/memory.h"

namespace musubi::launch {

class Watcher {
 public:
  struct Event {
    std::uint32_t subject;
    std::uint32_t index;
    std::uint32_t events;  // EPOLLIN ...
  };

  Watcher();

  // Watches a file, or changes its `events`. False: this kind of file is always ready (a file on disk).
  bool watch(int descriptor, std::uint32_t subject, std::uint32_t index, std::uint32_t events);
  void unwatch(int descriptor);

  // Blocks until a file is ready or the deadline has passed (os::monotonic_ns; none: no timeout). Result: the
  // ready files, valid until the next call.
  std::span<const Event> wait(std::optional<std::uint64_t> deadline_ns);

 private:
  static constexpr std::size_t events_max = 256;
  os::FileDescriptor epoll_;
  Event ready_[events_max];
};

// The earlier one of two optional deadlines.
std::optional<std::uint64_t> earlier(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b);

}  // namespace musubi::launch
