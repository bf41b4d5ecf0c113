// The limit on open files: a rank needs more files than its program. The program sees the user's limit, and
// programs that it executes or starts by posix_spawn get that limit.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace musubi::image {

// Raises this process's soft limit to `files`, or to the hard limit if that is lower. Result: the new limit.
rlim_t raise_open_files(rlim_t files) noexcept;

// Replaces the kernel's limit by the one that the program sees; no effect for other resources. Any thread.
void show_users_limit(int resource, rlimit& limit) noexcept;
// The limit to pass to the kernel for one that the program sets: the rank keeps its own files.
rlimit with_own_files(int resource, const rlimit& wanted) noexcept;
// Call after the kernel has accepted it: the program sees the limit that it has set.
void note_users_limit(int resource, const rlimit& set) noexcept;

// Sets the user's limit for another process, a child that was just started.
void give_users_limit(pid_t process) noexcept;

// Sets the user's limit during an exec; restores the rank's own if the exec fails.
class UsersLimit {
 public:
  UsersLimit() noexcept;
  ~UsersLimit();
  UsersLimit(const UsersLimit&) = delete;
  UsersLimit& operator=(const UsersLimit&) = delete;

 private:
  rlim_t own_ = 0;  // 0: nothing to undo
};

}  // namespace musubi::image
