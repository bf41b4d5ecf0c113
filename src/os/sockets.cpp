#include "os/sockets.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/cause.h"
#include "os/system_call.h"

namespace musubi::os {
namespace {

constexpr std::size_t signal_set_bytes = 8;  // the kernel's, not the C library's

// A single piece goes through the cheaper call without a vector.
Transferred transfer(long number_of_one, long number, int socket, std::span<const iovec> pieces,
                     int flags) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  long answer = 0;
  do {
    answer = pieces.size() == 1 ? system_call(number_of_one, socket, as_argument(pieces[0].iov_base),
                                              static_cast<long>(pieces[0].iov_len), flags, 0, 0)
                                : system_call(number, socket, as_argument(&message), flags);
  } while (answer == -EINTR);
  if (answer > 0) return {static_cast<std::size_t>(answer), Transferred::End::none};
  const bool not_now = answer == -EAGAIN || answer == -ENOBUFS || answer == -ENOMEM;
  if (not_now) return {0, Transferred::End::not_now};
  return {0, Transferred::End::closed, static_cast<int>(-answer)};
}

bool control(int set, int operation, int descriptor, std::uint32_t events, std::uint64_t data) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return system_call(SYS_epoll_ctl, set, operation, descriptor, as_argument(&event)) == 0;
}

}  // namespace

Transferred send_pieces(int socket, std::span<const iovec> pieces) noexcept {
  return transfer(SYS_sendto, SYS_sendmsg, socket, pieces, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Transferred receive_pieces(int socket, std::span<const iovec> places) noexcept {
  return transfer(SYS_recvfrom, SYS_recvmsg, socket, places, MSG_DONTWAIT);
}

void shut_down(int socket) noexcept {
  system_call(SYS_shutdown, socket, SHUT_RDWR);
}

Result<std::pair<FileDescriptor, FileDescriptor>> socket_pair() {
  int numbers[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, numbers) != 0) {
    return Error{"cannot make a pair of sockets: " + cause_of(errno)};
  }
  return std::pair{FileDescriptor(numbers[0]), FileDescriptor(numbers[1])};
}

Result<ReadySet> ReadySet::create() {
  ReadySet set;
  set.file_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (set.number() < 0) return Error{"cannot make a set of sockets to wait for: " + cause_of(errno)};
  return set;
}

bool ReadySet::add(int descriptor, std::uint32_t events, std::uint64_t data) const noexcept {
  return control(number(), EPOLL_CTL_ADD, descriptor, events, data);
}

bool ReadySet::change(int descriptor, std::uint32_t events, std::uint64_t data) const noexcept {
  return control(number(), EPOLL_CTL_MOD, descriptor, events, data);
}

void ReadySet::remove(int descriptor) const noexcept {
  control(number(), EPOLL_CTL_DEL, descriptor, 0, 0);
}

std::size_t ReadySet::wait(std::span<epoll_event> events, int timeout_ms) const noexcept {
  const long answer = system_call(SYS_epoll_pwait, number(), as_argument(events.data()),
                                  static_cast<long>(events.size()), timeout_ms, 0, signal_set_bytes);
  return answer > 0 ? static_cast<std::size_t>(answer) : 0;
}

Result<WakeupPipe> WakeupPipe::create() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error{"cannot make a pipe to wake a thread: " + cause_of(errno)};
  }
  WakeupPipe pipe;
  pipe.file_ = FileDescriptor(ends[0]);
  pipe.write_end_ = FileDescriptor(ends[1]);
  return pipe;
}

Result<FileDescriptor> WakeupPipe::open_write_end_of(pid_t process, int write_end) {
  auto opened = open_file_of_process(process, write_end);
  if (!opened) return opened;
  ::fcntl(opened.value().number(), F_SETFL, O_NONBLOCK);
  return opened;
}

// EAGAIN: the pipe is full, so the wakeup is pending already.
void WakeupPipe::ring_by(int write_end) noexcept {
  const char one = 1;
  system_call(SYS_write, write_end, as_argument(&one), sizeof one);
}

bool WakeupPipe::await(std::uint64_t timeout_ns) const noexcept {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  pollfd file{number(), POLLIN, 0};
  timespec timeout{static_cast<time_t>(timeout_ns / second_ns), static_cast<long>(timeout_ns % second_ns)};
  return system_call(SYS_ppoll, as_argument(&file), 1, as_argument(&timeout), 0, signal_set_bytes) > 0;
}

void WakeupPipe::silence() const noexcept {
  char rings[512];
  while (system_call(SYS_read, number(), as_argument(rings), sizeof rings) == long{sizeof rings}) {
  }
}

}  // namespace musubi::os
