// syscall(2): calls by number about signals, the process and words of shared memory have the effect of the
// named functions.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "heap/heap.h"
#include "image/process/refusal.h"
#include "image/symbols/exported.h"
#include "image/symbols/numbered_calls.h"
#include "image/symbols/processes/user_signals.h"
#include "os/signal_calls.h"

namespace musubi::image {
namespace {

// The kernel's layout.
struct KernelAction {
  decltype(sigaction::sa_sigaction) handler;
  unsigned long flags;
  void (*restorer)();
  os::SignalBits mask;
};

template <class Pointer>
Pointer as(long word) {
  return reinterpret_cast<Pointer>(word);
}

long set_action(vm::UserSignals& signals, int signal, const KernelAction* set, KernelAction* old) {
  struct sigaction wanted {
  }, before{};
  if (set != nullptr) {
    wanted.sa_sigaction = set->handler;
    wanted.sa_flags = static_cast<int>(set->flags);
    wanted.sa_mask = os::signal_set(set->mask);
  }
  if (set_action_everywhere(signals, signal, set != nullptr ? &wanted : nullptr, &before) != 0) return -1;
  if (old != nullptr) {
    *old = {before.sa_sigaction, static_cast<unsigned>(before.sa_flags), nullptr,
            os::signal_bits(before.sa_mask)};
  }
  return 0;
}

long set_mask_of(vm::UserSignals& signals, int how, const os::SignalBits* set, os::SignalBits* old) {
  const sigset_t wanted = os::signal_set(set != nullptr ? *set : 0);
  sigset_t before{};
  const int error = signals.mask(how, set != nullptr ? &wanted : nullptr, &before);
  if (error != 0) {
    errno = error;
    return -1;
  }
  if (old != nullptr) *old = os::signal_bits(before);
  return 0;
}

// Calls about the process, by the id that the program knows. False: the kernel serves the call.
bool is_about_process(long number, const long* given, long& result) {
  switch (number) {
    case SYS_getpid:
      result = ::getpid();
      return true;
    case SYS_getppid:
      result = ::getppid();
      return true;
    case SYS_kill:
      result = ::kill(static_cast<pid_t>(given[0]), static_cast<int>(given[1]));
      return true;
    case SYS_tgkill:
      result =
          ::tgkill(static_cast<pid_t>(given[0]), static_cast<pid_t>(given[1]), static_cast<int>(given[2]));
      return true;
    case SYS_sched_getaffinity:
      result = as_call(processors_of(static_cast<pid_t>(given[0]), static_cast<std::size_t>(given[1]),
                                     reinterpret_cast<void*>(given[2])));
      return true;
    case SYS_sched_setaffinity:
      result = as_call(set_processors_of(static_cast<pid_t>(given[0]), static_cast<std::size_t>(given[1]),
                                         reinterpret_cast<const void*>(given[2])));
      return true;
    case SYS_fork:
      result = ::fork();
      return true;
    case SYS_execve:
      result = ::execve(as<const char*>(given[0]), as<char* const*>(given[1]), as<char* const*>(given[2]));
      return true;
    case SYS_wait4:
      result = ::wait4(static_cast<pid_t>(given[0]), as<int*>(given[1]), static_cast<int>(given[2]),
                       as<struct rusage*>(given[3]));
      return true;
    case SYS_waitid:
      result = ::waitid(static_cast<idtype_t>(given[0]), static_cast<id_t>(given[1]),
                        as<siginfo_t*>(given[2]), static_cast<int>(given[3]));
      return true;
    case SYS_getrlimit:
      result = ::getrlimit(static_cast<__rlimit_resource>(given[0]), as<rlimit*>(given[1]));
      return true;
    case SYS_setrlimit:
      result = ::setrlimit(static_cast<__rlimit_resource>(given[0]), as<const rlimit*>(given[1]));
      return true;
    case SYS_prlimit64:
      result = ::prlimit(static_cast<pid_t>(given[0]), static_cast<__rlimit_resource>(given[1]),
                         as<const rlimit*>(given[2]), as<rlimit*>(given[3]));
      return true;
    case SYS_setitimer:
      result = ::setitimer(static_cast<__itimer_which>(given[0]), as<const itimerval*>(given[1]),
                           as<itimerval*>(given[2]));
      return true;
    case SYS_getitimer:
      result = ::getitimer(static_cast<__itimer_which>(given[0]), as<itimerval*>(given[1]));
      return true;
    case SYS_clone:
    case SYS_clone3:
    case SYS_vfork:
      report_refused_call(
          "a process or thread made by syscall(2) was refused: it would use shared memory without the page "
          "faults that fetch it",
          "call fork, posix_spawn or pthread_create");
      errno = ENOSYS;
      result = -1;
      return true;
    default:
      return false;
  }
}

// The same for calls about files.
bool is_about_file(long number, const long* given, long& result) {
  const auto number_at = [given](int place) { return static_cast<int>(given[place]); };
  switch (number) {
    case SYS_open:
      result = ::open(as<const char*>(given[0]), number_at(1), static_cast<mode_t>(given[2]));
      return true;
    case SYS_openat:
      result = ::openat(number_at(0), as<const char*>(given[1]), number_at(2), static_cast<mode_t>(given[3]));
      return true;
    case SYS_fcntl:
      result = ::fcntl(number_at(0), number_at(1), given[2]);
      return true;
    case SYS_ioctl:
      result = ::ioctl(number_at(0), static_cast<unsigned long>(given[1]), given[2]);
      return true;
    case SYS_close:
      result = ::close(number_at(0));
      return true;
    case SYS_close_range:
      result = ::close_range(static_cast<unsigned>(given[0]), static_cast<unsigned>(given[1]), number_at(2));
      return true;
    case SYS_dup2:
      result = ::dup2(number_at(0), number_at(1));
      return true;
    case SYS_dup3:
      result = ::dup3(number_at(0), number_at(1), number_at(2));
      return true;
    case SYS_umask:
      result = ::umask(static_cast<mode_t>(given[0]));
      return true;
    case SYS_fchdir:
      result = ::fchdir(number_at(0));
      return true;
    case SYS_chdir:
      result = ::chdir(as<const char*>(given[0]));
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace musubi::image

MUSUBI_EXPORT long syscall(long number, ...) noexcept {
  namespace os = musubi::os;
  long given[6];
  va_list arguments;
  va_start(arguments, number);
  for (long& argument : given) argument = va_arg(arguments, long);
  va_end(arguments);
  if (auto* const signals = musubi::image::user_signals()) {
    const int first = static_cast<int>(given[0]);
    const bool is_mask_of_64 = given[3] == sizeof(os::SignalBits);
    if (number == SYS_rt_sigaction && is_mask_of_64) {
      return musubi::image::set_action(*signals, first,
                                       reinterpret_cast<const musubi::image::KernelAction*>(given[1]),
                                       reinterpret_cast<musubi::image::KernelAction*>(given[2]));
    }
    if (number == SYS_rt_sigprocmask && is_mask_of_64) {
      return musubi::image::set_mask_of(*signals, first, reinterpret_cast<const os::SignalBits*>(given[1]),
                                        reinterpret_cast<os::SignalBits*>(given[2]));
    }
    if (number == SYS_sigaltstack) {
      return signals->alternate_stack(reinterpret_cast<const stack_t*>(given[0]),
                                      reinterpret_cast<stack_t*>(given[1]));
    }
  }
  // Calls of the runtime itself concern this process.
  long done;
  if (musubi::heap::process_heap.serves(MUSUBI_CALLER) &&
      (number == SYS_futex ? musubi::image::does_shared_futex(given, done)
                           : musubi::image::is_about_process(number, given, done) ||
                                 musubi::image::is_about_file(number, given, done))) {
    return done;
  }
  return musubi::image::call_by_number(number, given);
}
