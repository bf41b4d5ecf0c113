// Serves requests of other ranks about this rank's descriptors.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "image/objects/descriptors.h"
#include "image/objects/given_descriptor.h"

namespace musubi::image {

runtime::Answer Descriptors::run(Rank caller, std::span<const std::byte> request,
                                 std::span<std::byte> reply) noexcept {
  Message message;
  MUSUBI_CHECK(request.size() == sizeof message);
  std::memcpy(&message, request.data(), sizeof message);
  switch (message.request) {
    case Request::give:
      return {give(caller, message), 0};
    case Request::close:
      if (state(message.number) != State::own || is_internal(message.number)) return {-EBADF, 0};
      return {close_own(message.number, caller), 0};
    case Request::drop:
      drop_here(message.number);
      return {};
    case Request::put:
      return {put(caller, message), 0};
    case Request::duplicate:
      return {duplicate(message.from, message.number, message.flags) >= 0 ? 0 : -errno, 0};
    case Request::adopt:
      return {adopt(caller, message.number), 0};
    case Request::list:
      return {0, list(reply)};
  }
  __builtin_unreachable();
}

// Result: flags of the descriptor, or a negative error number.
int Descriptors::give(Rank caller, const Message& message) noexcept {
  const auto number = static_cast<std::size_t>(message.number);
  if (number < numbers_ && state(message.number) == State::absent) return -EBADF;
  if (is_internal(message.number)) return -EBADF;
  const long flags = ::syscall(SYS_fcntl, message.number, F_GETFD);
  if (flags < 0) return -EBADF;
  // Noted before the file is sent, so that a concurrent close reaches the caller.
  if (is_own_range(message.number) && message.number != STDOUT_FILENO) {
    holders_[number].fetch_or(std::uint64_t{1} << std::min(caller.value, 63u));
  }
  if (!runtime_->hosts().together(caller, self_)) {
    struct stat status {};
    const bool is_regular = ::fstat(message.number, &status) == 0 && S_ISREG(status.st_mode);
    return static_cast<int>(flags) | (is_regular ? given_regular : 0);
  }
  const int error = mail_.send(message.address, message.number, message.ticket);
  return error == 0 ? static_cast<int>(flags) : -error;
}

int Descriptors::put(Rank caller, const Message& message) noexcept {
  const int received = [&] {
    const std::lock_guard lock(receiving_);
    int flags;
    return receive_from(caller, message.from, &flags);
  }();
  if (received < 0) return -EBADF;
  drop_elsewhere(message.number, caller);
  const long result = ::syscall(SYS_dup3, received, message.number, message.flags);
  const int error = result < 0 ? -errno : 0;
  ::syscall(SYS_close, received);
  if (error == 0) {
    holders_[static_cast<std::size_t>(message.number)].fetch_or(std::uint64_t{1}
                                                                << std::min(caller.value, 63u));
    if (message.number <= STDERR_FILENO) spread_standard(message.number);
  }
  return error;
}

int Descriptors::adopt(Rank caller, int number) noexcept {
  const std::lock_guard lock(receiving_);
  int flags;
  const int received = receive_from(caller, number, &flags);
  if (received == of_other_host) {
    // The C library's own stream of that number continues to write to the launcher.
    if (owner(number) == caller) note_far(number, flags);
    return 0;
  }
  if (received < 0) {
    ::syscall(SYS_close, number);
    return 0;
  }
  ::syscall(SYS_dup3, received, number, flags != 0 ? O_CLOEXEC : 0);
  ::syscall(SYS_close, received);
  State absent = State::absent;
  states_[static_cast<std::size_t>(number)].compare_exchange_strong(absent, State::held);
  return 0;
}

// Numbers of this rank that the program may have opened.
std::size_t Descriptors::list(std::span<std::byte> reply) const noexcept {
  std::size_t bytes = 0;
  for (std::size_t number = first_number(self_); number < first_number(Rank{self_.value + 1}); ++number) {
    const auto value = static_cast<int>(number);
    if (value == STDOUT_FILENO || value == STDERR_FILENO || is_internal(value)) continue;
    if (::syscall(SYS_fcntl, value, F_GETFD) < 0 || bytes + sizeof value > reply.size()) continue;
    std::memcpy(reply.data() + bytes, &value, sizeof value);
    bytes += sizeof value;
  }
  return bytes;
}

}  // namespace musubi::image
