#include "image/process/open_file_limit.h"

#include <sys/syscall.h>

#include <algorithm>
#include <atomic>

#include "os/system_call.h"

namespace musubi::image {
namespace {

// The soft limit that the program sees; 0: the kernel's. Limits belong to the process.
constinit std::atomic<rlim_t> shown{0};

rlimit kernel_limit() noexcept {
  rlimit limit{};
  os::system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, os::as_argument(&limit));
  return limit;
}

void set_soft(pid_t process, rlim_t files) noexcept {
  rlimit limit = kernel_limit();
  limit.rlim_cur = std::min(files, limit.rlim_max);
  os::system_call(SYS_prlimit64, process, RLIMIT_NOFILE, os::as_argument(&limit), 0);
}

}  // namespace

rlim_t raise_open_files(rlim_t files) noexcept {
  const rlimit before = kernel_limit();
  if (before.rlim_cur >= files) return before.rlim_cur;
  shown.store(before.rlim_cur);
  set_soft(0, files);
  return kernel_limit().rlim_cur;
}

void show_users_limit(int resource, rlimit& limit) noexcept {
  const rlim_t files = shown.load();
  if (resource == RLIMIT_NOFILE && files != 0) limit.rlim_cur = std::min(files, limit.rlim_max);
}

rlimit with_own_files(int resource, const rlimit& wanted) noexcept {
  if (resource != RLIMIT_NOFILE || shown.load() == 0 || wanted.rlim_cur > wanted.rlim_max) return wanted;
  const rlim_t own = kernel_limit().rlim_cur;
  return {std::max(wanted.rlim_cur, own), std::max(wanted.rlim_max, own)};
}

void note_users_limit(int resource, const rlimit& set) noexcept {
  if (resource == RLIMIT_NOFILE && shown.load() != 0) shown.store(set.rlim_cur);
}

void give_users_limit(pid_t process) noexcept {
  if (shown.load() != 0) set_soft(process, shown.load());
}

UsersLimit::UsersLimit() noexcept {
  if (shown.load() == 0) return;
  own_ = kernel_limit().rlim_cur;
  give_users_limit(0);
}

UsersLimit::~UsersLimit() {
  if (own_ != 0) set_soft(0, own_);
}

}  // namespace musubi::image
