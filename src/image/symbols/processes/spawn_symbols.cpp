// Arguments of posix_spawn and exec for other programs. The kernel reads them in another process or thread,
// which cannot open shared memory.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string>
#include <vector>

#include "config/environment.h"
#include "image/children/fork.h"
#include "image/process/open_file_limit.h"
#include "image/process/refusal.h"
#include "image/start/invited_environment.h"
#include "image/start/job.h"
#include "image/start/program_exit.h"
#include "image/symbols/exported.h"
#include "image/symbols/kernel_access.h"
#include "os/binding.h"

namespace {

using namespace musubi::image;

// A null-terminated list of texts in private memory.
class PrivateTexts {
 public:
  explicit PrivateTexts(char* const* list) {
    for (; list != nullptr && *list != nullptr; ++list) texts_.emplace_back(*list);
    for (std::string& text : texts_) list_.push_back(text.data());
    list_.push_back(nullptr);
  }
  PrivateTexts(const PrivateTexts&) = delete;
  char* const* get() const noexcept { return list_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> list_;
};

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                      char* const*, char* const*);
constinit Next<Spawn> next_spawn("posix_spawn"), next_spawnp("posix_spawnp");

int spawn(Spawn next, pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
          const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  if (job_of_memory() == nullptr) {
    return next(process, path, actions, attributes, arguments, InvitedEnvironment(environment).get());
  }
  if (Job* const job = current_job()) {
    job->descriptors.make_all_usable();
    job->children.note_child();
  }
  const std::string private_path = path;
  const PrivateTexts private_arguments(arguments), private_environment(environment);
  posix_spawn_file_actions_t private_actions{};
  posix_spawnattr_t private_attributes{};
  if (actions != nullptr) private_actions = *actions;
  if (attributes != nullptr) private_attributes = *attributes;
  pid_t made = -1;
  const musubi::os::Unbound unbound;
  const int error = next(&made, private_path.c_str(), actions != nullptr ? &private_actions : nullptr,
                         attributes != nullptr ? &private_attributes : nullptr, private_arguments.get(),
                         private_environment.get());
  if (error == 0) give_users_limit(made);
  if (error == 0 && process != nullptr) *process = made;
  return error;
}

using Exec = int (*)(const char*, char* const*, char* const*);
constinit Next<Exec> next_execve("execve"), next_execvpe("execvpe");
constinit Next<int (*)(int, char* const*, char* const*)> next_fexecve("fexecve");

void open_for_exec(const char* path, char* const* arguments, char* const* environment) {
  note_exec_of_child();
  Job* const job = job_of_memory();
  if (job == nullptr) return;
  const int kept_errno = errno;
  KernelAccess(*job).text(path).texts(arguments).texts(environment);
  errno = kept_errno;
}

// Whether the kernel, or for a name without a slash the C library, finds such a program.
bool is_executable(const char* file, bool by_path) {
  const std::string name = file;
  if (!by_path || name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0;
  std::string path = musubi::config::environment_variable("PATH").value_or("/bin:/usr/bin") + ":";
  for (std::size_t colon; (colon = path.find(':')) != std::string::npos; path.erase(0, colon + 1)) {
    const std::string folder = path.substr(0, colon);
    if (::access(((folder.empty() ? "." : folder) + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool is_rank_of_several() {
  Job* const job = current_job();
  return job != nullptr && job->runtime.ranks() > 1 && job->children.is_this_process();
}

// The launcher's invitation is used up, and the other ranks would be left without a job: they leave. The
// job's status is that of the new program.
void leave_to_program() {
  report_refused_call(
      "exec replaces this rank by a program that is no part of the job: it runs in one process, and the job "
      "ends with it",
      "name that program to musubi run, or start it by a shell script with `exec`");
  if (current_job()->is_first_rank()) leave_job(-1);
}

void refuse_if_gone(bool has_left) {
  if (has_left) refuse(126, "exec has failed, but the other ranks have left");
}

int exec(Next<Exec>& next, const char* path, char* const* arguments, char* const* environment) {
  open_for_exec(path, arguments, environment);
  const bool leaves = is_rank_of_several() && is_executable(path, &next == &next_execvpe);
  if (leaves) leave_to_program();
  const musubi::image::UsersLimit users_limit;
  const musubi::os::Unbound unbound;
  const int result = next.get()(path, arguments, InvitedEnvironment(environment).get());
  refuse_if_gone(leaves);
  return result;
}

// Arguments of execl and its variants, up to the null; a child made by fork must not call malloc.
constexpr std::size_t arguments_max = 4096;
struct Arguments {
  const char* list[arguments_max + 1];
  char* const* get() const noexcept { return const_cast<char* const*>(list); }
};

bool read_arguments(Arguments& result, const char* first, va_list& rest) {
  std::size_t count = 0;
  for (const char* next = first;; next = va_arg(rest, const char*)) {
    result.list[count] = next;
    if (next == nullptr) return true;
    if (++count > arguments_max) break;
  }
  errno = E2BIG;
  return false;
}

}  // namespace

MUSUBI_EXPORT int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments,
                              char* const* environment) {
  return spawn(next_spawn.get(), process, path, actions, attributes, arguments, environment);
}
MUSUBI_EXPORT int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments,
                               char* const* environment) {
  return spawn(next_spawnp.get(), process, file, actions, attributes, arguments, environment);
}

MUSUBI_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
  return exec(next_execve, path, arguments, environment);
}
MUSUBI_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return exec(next_execve, path, arguments, environ);
}
MUSUBI_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) noexcept {
  return exec(next_execvpe, file, arguments, environment);
}
MUSUBI_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return exec(next_execvpe, file, arguments, environ);
}
MUSUBI_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) noexcept {
  open_for_exec(nullptr, arguments, environment);
  const bool leaves = is_rank_of_several() && ::fcntl(file, F_GETFD) >= 0;
  if (leaves) leave_to_program();
  const musubi::image::UsersLimit users_limit;
  const musubi::os::Unbound unbound;
  const int result = next_fexecve.get()(file, arguments, InvitedEnvironment(environment).get());
  refuse_if_gone(leaves);
  return result;
}

#define MUSUBI_EXEC_LIST(name, next, environment_of)                          \
  MUSUBI_EXPORT int name(const char* path, const char* first, ...) noexcept { \
    Arguments arguments;                                                      \
    va_list rest;                                                             \
    va_start(rest, first);                                                    \
    const bool complete = read_arguments(arguments, first, rest);             \
    [[maybe_unused]] char* const* const environment = environment_of;         \
    va_end(rest);                                                             \
    return complete ? exec(next, path, arguments.get(), environment) : -1;    \
  }
MUSUBI_EXEC_LIST(execl, next_execve, environ)
MUSUBI_EXEC_LIST(execlp, next_execvpe, environ)
MUSUBI_EXEC_LIST(execle, next_execve, va_arg(rest, char* const*))
#undef MUSUBI_EXEC_LIST
