// Stream sockets that never block, and sleeping until one of several is ready. All signal-safe; a signal that
// interrupts a call has it made again, but for a sleep. Bare system calls: the runtime gives the program
// other ones under these names.
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

// What a call on a socket brought: bytes, or why there are none.
struct Transferred {
  enum class End : std::uint8_t { none, not_now, closed };
  std::size_t bytes = 0;
  End end = End::none;  // not_now: none until the socket is ready again; closed: none ever
  int error = 0;        // why it is closed, as the kernel numbers errors; 0: the other end has closed it
};

// Sends the pieces, one behind the other; raises no SIGPIPE. Fewer bytes than there are: the socket is full.
Transferred send_pieces(int socket, std::span<const iovec> pieces) noexcept;
// Receives into the places, one behind the other. Fewer bytes than there is room for: no more had come.
Transferred receive_pieces(int socket, std::span<const iovec> places) noexcept;

// Ends both directions: the other end receives nothing more than what was sent.
void shut_down(int socket) noexcept;

// Two sockets of this process that are joined.
Result<std::pair<FileDescriptor, FileDescriptor>> socket_pair();

// Several descriptors, of which any may get ready (epoll). Adding and changing: any thread.
class ReadySet {
 public:
  static Result<ReadySet> create();

  // `events` as of epoll_ctl; `data` comes back with an event. Result: whether it worked.
  bool add(int descriptor, std::uint32_t events, std::uint64_t data) const noexcept;
  bool change(int descriptor, std::uint32_t events, std::uint64_t data) const noexcept;
  void remove(int descriptor) const noexcept;

  // What is ready now. Result: how many of `events` count.
  std::size_t look(std::span<epoll_event> events) const noexcept { return wait(events, 0); }
  // Sleeps until something is ready, a signal handler ran, or so much time has passed; -1: whatever it takes.
  std::size_t sleep(std::span<epoll_event> events, int timeout_ms = -1) const noexcept {
    return wait(events, timeout_ms);
  }

  int number() const noexcept { return file_.number(); }

 private:
  std::size_t wait(std::span<epoll_event> events, int timeout_ms) const noexcept;

  FileDescriptor file_;
};

// Ready once it was rung, until it is silenced. A pipe: another process of this host can open its end for
// ringing (open_file_of_process), and ring_by() it.
class Bell {
 public:
  static Result<Bell> create();
  void ring() const noexcept { ring_by(rope_.number()); }
  void silence() const noexcept;
  // Sleeps until it has been rung, a signal handler ran, or so much time has passed. Result: whether it was.
  bool await(std::uint64_t timeout_ns) const noexcept;
  int number() const noexcept { return file_.number(); }
  int rope() const noexcept { return rope_.number(); }  // the end for ringing

  // The end for ringing of a bell of another process of this host, or of this one. Errors: as of
  // open_file_of_process.
  static Result<FileDescriptor> open_rope_of(pid_t process, int rope);
  // Rings the bell whose end for ringing this is, or one that was opened from it. Never blocks.
  static void ring_by(int rope) noexcept;

 private:
  FileDescriptor file_, rope_;
};

}  // namespace musubi::os
