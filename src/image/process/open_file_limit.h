// The limit on open files: a rank needs more than its program. The program sees the user's, and what it
// executes or starts by posix_spawn has it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace musubi::image {

// Raises this process's soft limit to `files`, as far as the hard one allows. Result: the limit then.
rlim_t raise_open_files(rlim_t files) noexcept;

// Of the kernel's limit makes the one that the program sees. Other resources stay as they are. Any thread.
void show_users_limit(int resource, rlimit& limit) noexcept;
// Of a limit that the program sets makes what may be given to the kernel: the rank keeps the files that it
// has.
rlimit with_own_files(int resource, const rlimit& wanted) noexcept;
// The kernel has taken it: the program sees what it has set.
void note_users_limit(int resource, const rlimit& set) noexcept;

// The user's limit for another process, a child that was just started.
void give_users_limit(pid_t process) noexcept;

// The user's limit while a program is executed. What is not replaced gets its own back.
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
