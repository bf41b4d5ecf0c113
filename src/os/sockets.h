// Stream sockets that never block, and sleeping until one of several is ready. All signal-safe; a call
// interrupted by a signal is repeated, except for a sleep. Bare system calls: the runtime exports its own
// versions of these names to the program.
#pragma once

#include <sys/epoll.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::os {

// Outcome of a call on a socket: bytes, or the reason why there are none.
struct Transferred {
  enum class End : std::uint8_t { none, not_now, closed };
  std::size_t bytes = 0;
  End end = End::none;  // not_now: until the socket is ready again; closed: for good
  int error = 0;        // why it is closed, an errno value; 0: the other end has closed it
};

// Sends the pieces in order; raises no SIGPIPE. A short count means that the socket is full.
Transferred send_pieces(int socket, std::span<const iovec> pieces) noexcept;
// Receives into the places in order. A short count means that no more bytes have arrived.
Transferred receive_pieces(int socket, std::span<const iovec> places) noexcept;

// Shuts down both directions: the other end still receives the bytes sent before.
void shut_down(int socket) noexcept;

// Two connected sockets of this process.
Result<std::pair<FileDescriptor, FileDescriptor>> socket_pair();

// A set of descriptors, of which any may become ready (epoll). Adding and changing: any thread.
class ReadySet {
 public:
  static Result<ReadySet> create();

  // `events` as of epoll_ctl; each event returns `data`. Result: whether it worked.
  bool add(int descriptor, std::uint32_t events, std::uint64_t data) const noexcept;
  bool change(int descriptor, std::uint32_t events, std::uint64_t data) const noexcept;
  void remove(int descriptor) const noexcept;

  // Polls. Result: the number of valid `events`.
  std::size_t look(std::span<epoll_event> events) const noexcept { return wait(events, 0); }
  // Sleeps until a descriptor is ready, a signal handler ran, or the time is up; -1: no time limit.
  std::size_t sleep(std::span<epoll_event> events, int timeout_ms = -1) const noexcept {
    return wait(events, timeout_ms);
  }

  int number() const noexcept { return file_.number(); }

 private:
  std::size_t wait(std::span<epoll_event> events, int timeout_ms) const noexcept;

  FileDescriptor file_;
};

// Becomes ready when it is rung, until it is silenced. A pipe: another process of this host can open its
// write end (open_file_of_process) and call ring_by().
class WakeupPipe {
 public:
  static Result<WakeupPipe> create();
  void ring() const noexcept { ring_by(write_end_.number()); }
  void silence() const noexcept;
  // Sleeps until it is rung, a signal handler ran, or the time is up. Result: whether it was rung.
  bool await(std::uint64_t timeout_ns) const noexcept;
  int number() const noexcept { return file_.number(); }
  int write_end() const noexcept { return write_end_.number(); }  // the write end, for ringing

  // The write end of a pipe of any process of this host. Errors: as of open_file_of_process.
  static Result<FileDescriptor> open_write_end_of(pid_t process, int write_end);
  // Rings the pipe with this write end, or with one opened from it. Never blocks.
  static void ring_by(int write_end) noexcept;

 private:
  FileDescriptor file_, write_end_;
};

}  // namespace musubi::os
