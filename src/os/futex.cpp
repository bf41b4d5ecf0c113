#include "os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "os/errno_kept.h"

namespace musubi::os {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

FutexOutcome futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::uint64_t timeout_ns) noexcept {
  const ErrnoKept errno_kept;
  timespec timeout{};
  timespec* limit = nullptr;
  if (timeout_ns != no_timeout) {
    timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000u);
    limit = &timeout;
  }
  // Not FUTEX_PRIVATE: the sleeper and the waker may be different processes.
  if (::syscall(SYS_futex, &word, FUTEX_WAIT, expected, limit, nullptr, 0) == 0) return FutexOutcome::woken;
  switch (errno) {
    case EAGAIN:
      return FutexOutcome::changed;
    case EINTR:
      return FutexOutcome::interrupted;
    case ETIMEDOUT:
      return FutexOutcome::timed_out;
    default:
      MUSUBI_CHECK(false, "futex wait: %s", std::strerror(errno));
  }
  return FutexOutcome::woken;
}

std::uint32_t futex_wake(const std::atomic<std::uint32_t>& word, std::uint32_t count) noexcept {
  const ErrnoKept errno_kept;
  const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
  MUSUBI_CHECK(woken >= 0, "futex wake: %s", std::strerror(errno));
  return static_cast<std::uint32_t>(woken);
}

}  // namespace musubi::os
