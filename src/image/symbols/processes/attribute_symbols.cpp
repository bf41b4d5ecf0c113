// Calls that set attributes of the process (image/objects/attributes.h), and the process ids that the program
// sees.
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "heap/heap.h"
#include "image/process/fork_handlers.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/kernel_access.h"
#include "os/system_call.h"

namespace {

using namespace musubi::image;
using Change = Attributes::Change;

void spread(Change change, int number, std::string_view text) {
  if (Job* const job = job_of_ranks()) job->attributes.spread(change, number, text);
}

// By its canonical name: a path of the program may contain links or be relative.
void spread_directory() {
  if (job_of_ranks() == nullptr) return;
  char path[PATH_MAX];
  if (musubi::os::system_call(SYS_getcwd, reinterpret_cast<long>(path), sizeof path) > 0) {
    spread(Change::directory, 0, path);
  }
}

constinit Next<int (*)(const char*)> next_chdir("chdir"), next_unsetenv("unsetenv");
constinit Next<int (*)(int)> next_fchdir("fchdir");
constinit Next<mode_t (*)(mode_t)> next_umask("umask");
constinit Next<char* (*)(int, const char*)> next_setlocale("setlocale");
constinit Next<int (*)(const char*, const char*, int)> next_setenv("setenv");
constinit Next<int (*)(char*)> next_putenv("putenv");
constinit Next<int (*)()> next_clearenv("clearenv");
constinit Next<int (*)(void (*)(), void (*)(), void (*)(), void*)> next_register("__register_atfork");

// In memory that any rank can read, because getenv returns its address; never freed, as in the C library.
int put_shared(const char* name, const char* value) {
  const std::size_t name_bytes = std::strlen(name), value_bytes = std::strlen(value) + 1;
  auto* const text =
      static_cast<char*>(musubi::heap::process_heap.allocate_shared(name_bytes + 1 + value_bytes));
  if (text == nullptr) return -1;
  std::memcpy(text, name, name_bytes);
  text[name_bytes] = '=';
  std::memcpy(text + name_bytes + 1, value, value_bytes);
  return next_putenv.get()(text);
}

}  // namespace

MUSUBI_EXPORT int chdir(const char* path) noexcept {
  if (Job* const job = job_of_memory()) KernelAccess(*job).text(path);
  const int result = next_chdir.get()(path);
  if (result == 0) spread_directory();
  return result;
}
MUSUBI_EXPORT int fchdir(int folder) noexcept {
  if (Job* const job = job_of_memory()) KernelAccess(*job).file_if_open(folder);
  const int result = next_fchdir.get()(folder);
  if (result == 0) spread_directory();
  return result;
}

MUSUBI_EXPORT mode_t umask(mode_t mask) noexcept {
  const mode_t before = next_umask.get()(mask);
  spread(Change::mask, static_cast<int>(mask), {});
  return before;
}

MUSUBI_EXPORT char* setlocale(int category, const char* name) noexcept {
  Job* const job = job_of_ranks();
  if (job == nullptr) return next_setlocale.get()(category, name);
  const musubi::image::Locales::Loading loading(job->locales);
  char* const result = next_setlocale.get()(category, name);
  // The name found: an empty name is looked up in the environment.
  if (result != nullptr && name != nullptr) spread(Change::locale, category, result);
  return result == nullptr ? nullptr : const_cast<char*>(job->locales.kept_name(result));
}

MUSUBI_EXPORT int setenv(const char* name, const char* value, int overwrite) noexcept {
  if (job_of_ranks() == nullptr || name == nullptr || *name == '\0' || std::strchr(name, '=') != nullptr) {
    return next_setenv.get()(name, value, overwrite);
  }
  if (overwrite == 0 && std::getenv(name) != nullptr) return 0;
  if (put_shared(name, value) != 0) return -1;
  spread(Change::set_variable, 0, std::string(name) + '=' + value);
  return 0;
}
MUSUBI_EXPORT int putenv(char* text) noexcept {
  const int result = next_putenv.get()(text);
  if (result == 0)
    spread(std::strchr(text, '=') != nullptr ? Change::set_variable : Change::unset_variable, 0, text);
  return result;
}
MUSUBI_EXPORT int unsetenv(const char* name) noexcept {
  const int result = next_unsetenv.get()(name);
  if (result == 0) spread(Change::unset_variable, 0, name);
  return result;
}
MUSUBI_EXPORT int clearenv() noexcept {
  const int result = next_clearenv.get()();
  spread(Change::clear_variables, 0, {});
  return result;
}

MUSUBI_EXPORT pid_t getpid() noexcept {
  Job* const job = job_of_ranks();
  return job == nullptr ? static_cast<pid_t>(musubi::os::system_call(SYS_getpid))
                        : job->attributes.process_ids().process;
}
MUSUBI_EXPORT pid_t getppid() noexcept {
  Job* const job = job_of_ranks();
  return job == nullptr ? static_cast<pid_t>(musubi::os::system_call(SYS_getppid))
                        : job->attributes.process_ids().parent;
}

// pthread_atfork calls it. Code has the same addresses on all ranks.
MUSUBI_EXPORT int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                    void* object) noexcept {
  if (musubi::image::job_of_ranks() == nullptr) return next_register.get()(prepare, parent, child, object);
  const musubi::image::ForkHandlers handlers{prepare, parent, child};
  add_fork_handlers(handlers);
  spread(Change::fork_handlers, 0, {reinterpret_cast<const char*>(&handlers), sizeof handlers});
  return 0;
}
