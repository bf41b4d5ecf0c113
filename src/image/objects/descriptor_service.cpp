// Serves requests of other ranks about this rank's descriptors.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "image/objects/descriptors.h"

namespace musubi::image {

int Descriptors::close_for(Rank caller, int number) noexcept {
  if (state(number) != State::own || is_internal(number)) return -EBADF;
  return close_own(number, caller);
}

int Descriptors::duplicate_here(int from, int to, int flags) noexcept {
  return duplicate(from, to, flags) >= 0 ? 0 : -errno;
}

// Result: flags of the descriptor, or a negative error number.
int Descriptors::give(Rank caller, int number, std::uint64_t ticket,
                      const DescriptorMail::Address& to) noexcept {
  if (static_cast<std::size_t>(number) < numbers_ && state(number) == State::absent) return -EBADF;
  if (is_internal(number)) return -EBADF;
  const long flags = ::syscall(SYS_fcntl, number, F_GETFD);
  if (flags < 0) return -EBADF;
  // Noted before the file is sent, so that a concurrent close reaches the caller.
  if (is_own_range(number) && number != STDOUT_FILENO) {
    holders_[static_cast<std::size_t>(number)].fetch_or(std::uint64_t{1} << std::min(caller.value, 63u));
  }
  if (!runtime_->hosts().together(caller, self_)) {
    struct stat status {};
    const bool is_regular = ::fstat(number, &status) == 0 && S_ISREG(status.st_mode);
    return static_cast<int>(flags) | (is_regular ? given_regular : 0);
  }
  const int error = mail_.send(to, number, ticket);
  return error == 0 ? static_cast<int>(flags) : -error;
}

int Descriptors::put(Rank caller, int from, int to, int flags) noexcept {
  const int received = [&] {
    const std::lock_guard lock(receiving_);
    int given;
    return receive_from(caller, from, &given);
  }();
  if (received < 0) return -EBADF;
  drop_elsewhere(to, caller);
  const long result = ::syscall(SYS_dup3, received, to, flags);
  const int error = result < 0 ? -errno : 0;
  ::syscall(SYS_close, received);
  if (error == 0) {
    holders_[static_cast<std::size_t>(to)].fetch_or(std::uint64_t{1} << std::min(caller.value, 63u));
    if (to <= STDERR_FILENO) spread_standard(to);
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

void Descriptors::list(OpenNumbers& open) noexcept {
  for (std::size_t number = first_number(self_); number < first_number(Rank{self_.value + 1}); ++number) {
    const auto value = static_cast<int>(number);
    if (value == STDOUT_FILENO || value == STDERR_FILENO || is_internal(value)) continue;
    if (::syscall(SYS_fcntl, value, F_GETFD) < 0 || open.count == open.numbers.size()) continue;
    open.numbers[open.count++] = value;
  }
}

}  // namespace musubi::image
