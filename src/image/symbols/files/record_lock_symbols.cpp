#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"
#include "image/symbols/files/record_locks.h"
#include "os/clock.h"

namespace musubi::image {
namespace {

constinit Next<int (*)(int, int, ...)> next_fcntl("fcntl");

// The lowest rank of this host: the kernel knows its process as the holder.
Rank keeper_of_host(const runtime::Runtime& runtime) noexcept {
  Rank rank{0};
  while (!runtime.hosts().together(rank, runtime.self())) ++rank.value;
  return rank;
}

// Does not block. `lock` is private memory.
int try_record(Job& job, int file, int command, struct flock& lock) noexcept {
  const Rank keeper = keeper_of_host(job.runtime);
  if (keeper == job.runtime.self()) return next_fcntl.get()(file, command, &lock);
  const std::uint64_t arguments[] = {to_word(file), to_word(command), to_word(&lock)};
  FarCall call(far_number(OwnWrapper::fcntl), arguments);
  call.add(&lock, sizeof lock, true);
  return static_cast<int>(job.far_calls.run(keeper, call, false));
}

}  // namespace

bool is_of_record_lock(int command) noexcept {
  return command == F_GETLK || command == F_SETLK || command == F_SETLKW;
}

int lock_record(Job& job, int file, int command, void* argument) noexcept {
  constexpr std::uint64_t first_pause_ns = 100'000, pause_ns_max = 10'000'000;
  if (argument == nullptr) {
    errno = EFAULT;
    return -1;
  }
  struct flock lock;
  std::memcpy(&lock, argument, sizeof lock);
  std::uint64_t pause_ns = first_pause_ns;
  while (true) {
    const int result = try_record(job, file, command == F_SETLKW ? F_SETLK : command, lock);
    if (command == F_GETLK && result == 0) std::memcpy(argument, &lock, sizeof lock);
    if (result == 0 || command != F_SETLKW || (errno != EAGAIN && errno != EACCES)) return result;
    os::sleep_ns(pause_ns);
    pause_ns = std::min(2 * pause_ns, pause_ns_max);
  }
}

namespace {

// As glibc: the section starts at the current position, and may extend backwards.
int lock_section(int file, int operation, off_t bytes) {
  struct flock lock {};
  lock.l_type = operation == F_ULOCK ? F_UNLCK : F_WRLCK;
  lock.l_whence = SEEK_CUR;
  lock.l_len = bytes;
  switch (operation) {
    case F_TEST:
      if (::fcntl(file, F_GETLK, &lock) < 0) return -1;
      if (lock.l_type == F_UNLCK || lock.l_pid == ::getpid()) return 0;
      errno = EACCES;
      return -1;
    case F_LOCK:
      return ::fcntl(file, F_SETLKW, &lock);
    case F_TLOCK:
    case F_ULOCK:
      return ::fcntl(file, F_SETLK, &lock);
    default:
      errno = EINVAL;
      return -1;
  }
}

}  // namespace
}  // namespace musubi::image

MUSUBI_WRAPPER(int, lockf, (int file, int operation, off_t bytes)) {
  return musubi::image::lock_section(file, operation, bytes);
}
MUSUBI_WRAPPER(int, lockf64, (int file, int operation, off_t bytes)) {
  return musubi::image::lock_section(file, operation, bytes);
}
