// Waits for many files at once (epoll). A file is known by a subject, whose numbers belong to the caller, and
// an index. One thread.
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

  // Begins, or goes on with other `events`. False: this kind of file is always ready (a file on disk).
  bool watch(int descriptor, std::uint32_t subject, std::uint32_t index, std::uint32_t events);
  void unwatch(int descriptor);

  // Blocks until something is ready, or until the deadline (os::monotonic_ns; none: for ever). Those ready,
  // until the next call.
  std::span<const Event> wait(std::optional<std::uint64_t> deadline_ns);

 private:
  static constexpr std::size_t events_max = 256;
  os::FileDescriptor epoll_;
  Event ready_[events_max];
};

// The earlier one of two deadlines that need not exist.
std::optional<std::uint64_t> earlier(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b);

}  // namespace musubi::launch
