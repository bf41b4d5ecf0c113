#include "image/process/open_file_limit.h"

#include <algorithm>
#include <atomic>

#include "os/limits.h"

namespace musubi::image {
namespace {

// The soft limit that the program sees; 0: the kernel's. Limits belong to the process.
constinit std::atomic<rlim_t> shown{0};

}  // namespace

rlim_t raise_open_files(rlim_t files) noexcept {
  const rlimit before = os::kernel_limit(RLIMIT_NOFILE);
  if (before.rlim_cur >= files) return before.rlim_cur;
  shown.store(before.rlim_cur);
  os::set_soft_limit(0, RLIMIT_NOFILE, files);
  return os::kernel_limit(RLIMIT_NOFILE).rlim_cur;
}

void show_users_limit(int resource, rlimit& limit) noexcept {
  const rlim_t files = shown.load();
  if (resource == RLIMIT_NOFILE && files != 0) limit.rlim_cur = std::min(files, limit.rlim_max);
}

rlimit with_own_files(int resource, const rlimit& wanted) noexcept {
  if (resource != RLIMIT_NOFILE || shown.load() == 0 || wanted.rlim_cur > wanted.rlim_max) return wanted;
  const rlim_t own = os::kernel_limit(RLIMIT_NOFILE).rlim_cur;
  return {std::max(wanted.rlim_cur, own), std::max(wanted.rlim_max, own)};
}

void note_users_limit(int resource, const rlimit& set) noexcept {
  if (resource == RLIMIT_NOFILE && shown.load() != 0) shown.store(set.rlim_cur);
}

void give_users_limit(pid_t process) noexcept {
  if (shown.load() != 0) os::set_soft_limit(process, RLIMIT_NOFILE, shown.load());
}

UsersLimit::UsersLimit() noexcept {
  if (shown.load() == 0) return;
  own_ = os::kernel_limit(RLIMIT_NOFILE).rlim_cur;
  give_users_limit(0);
}

UsersLimit::~UsersLimit() {
  if (own_ != 0) os::set_soft_limit(0, RLIMIT_NOFILE, own_);
}

}  // namespace musubi::image
