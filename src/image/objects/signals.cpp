#include "image/objects/signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "image/process/own_rank.h"
#include "image/process/real_function.h"
#include "os/errno_kept.h"
#include "os/signal_calls.h"
#include "os/system_call.h"
#include "runtime/threads/thread_executor.h"
#include "vm/signal/fault_handler.h"

namespace musubi::image {
namespace {

pid_t own_process() noexcept {
  return static_cast<pid_t>(os::system_call(SYS_getpid));
}

// Whether the process is known not to be a child of this one: a process that is gone may have been one.
bool is_foreign(pid_t process) noexcept {
  siginfo_t nothing{};
  const bool is_child = os::system_call(SYS_waitid, P_PID, process, reinterpret_cast<long>(&nothing),
                                        WEXITED | WNOHANG | WNOWAIT, 0) == 0;
  return !is_child && os::system_call(SYS_kill, process, 0) != -ESRCH;
}

// Whether rank 0 gets the same signal, because it was sent to all processes of the terminal or of a group, or
// by the launcher. A process outside the job, except a rank's own child, cannot mean a rank other than 0.
bool is_for_first_rank(int signal, const siginfo_t& information) noexcept {
  const runtime::Runtime* const runtime = own_runtime();
  if (runtime == nullptr || runtime->self() == Rank{0}) return false;
  switch (information.si_code) {
    case SI_KERNEL:
      return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGHUP ||
             signal == SIGCONT || signal == SIGWINCH;
    case SI_USER:
      return signal != SIGPIPE && is_foreign(information.si_pid);
    case SI_QUEUE:
      return information.si_pid != own_process() && is_foreign(information.si_pid);
    default:
      return false;
  }
}

// The callback of the watch has no argument to carry it.
constinit Signals* watching = nullptr;

// The kernel calls it in place of the program's handlers.
void enter_handler(int signal, siginfo_t* information, void* context) {
  const int kept_errno = errno;
  const bool leaves = is_for_first_rank(signal, *information);
  errno = kept_errno;
  if (leaves || runtime::DeferredHandlers::defer(signal, *information, *static_cast<ucontext_t*>(context)))
    return;
  if (runtime::Runtime* const runtime = own_runtime()) runtime->synchronization().run_between_regions();
  errno = kept_errno;
  vm::FaultHandler::installed()->user_signals().run_handler(signal, information, context);
}

int error_of(long result) noexcept {
  return result < 0 ? static_cast<int>(-result) : 0;
}

// Sends to the calling thread, or to the process.
int queue(bool to_thread, int signal, const sigval& value) noexcept {
  siginfo_t information{};
  information.si_signo = signal;
  information.si_code = SI_QUEUE;
  information.si_pid = own_process();
  information.si_uid = static_cast<uid_t>(os::system_call(SYS_getuid));
  information.si_value = value;
  const long sent = reinterpret_cast<long>(&information);
  return error_of(to_thread ? os::system_call(SYS_rt_tgsigqueueinfo, own_process(), ::gettid(), signal, sent)
                            : os::system_call(SYS_rt_sigqueueinfo, own_process(), signal, sent));
}

// Whether the program's handler would run on this thread now.
bool is_taken_here(int signal) noexcept {
  if (signal < 1 || signal > 64) return false;
  vm::UserSignals& signals = vm::FaultHandler::installed()->user_signals();
  struct sigaction action {};
  sigset_t blocked{};
  const os::ErrnoKept errno_kept;
  if (signals.action(signal, nullptr, &action) != 0 || action.sa_handler == SIG_DFL ||
      action.sa_handler == SIG_IGN) {
    return false;
  }
  signals.mask(SIG_BLOCK, nullptr, &blocked);
  return (os::signal_bits(blocked) & os::signal_bit(signal)) == 0;
}

// Every gfortran program has its library's handlers for fatal signals: they print the location, and let the
// program die. Takes no locks of the loader: a constructor, which runs under these, may call sigaction, too.
bool reports_an_end([[maybe_unused]] const void* handler) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  dl_find_object object;
  if (::_dl_find_object(const_cast<void*>(handler), &object) != 0) return false;
  return std::strstr(object.dlfo_link_map->l_name, "/libgfortran.so") != nullptr;
#else
  return false;
#endif
}

}  // namespace

void Signals::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  calls_.start(runtime, procedures::signals, *this);
  if (runtime.ranks() == 1) return;
  vm::UserSignals& signals = vm::FaultHandler::installed()->user_signals();
  signals.set_entry(&enter_handler);
  signals.set_judge_of_ends(&reports_an_end);
}

void Signals::watch() {
  if (runtime_->ranks() == 1) return;
  watching = this;
  watch_.watch(*runtime_, [](const siginfo_t& signal) {
    if (is_for_first_rank(signal.si_signo, signal)) return;  // rank 0 gets it, too
    watching->calls_.at<&Signals::forward>(Rank{0}, signal);
  });
}

void Signals::spread(int signal, const struct sigaction& action) noexcept {
  calls_.at_others<&Signals::act>(signal, action);
}

int Signals::send_to_process(int signal, const sigval* value) noexcept {
  if (is_taken_here(signal)) {
    return value != nullptr ? queue(true, signal, *value)
                            : error_of(os::system_call(SYS_tgkill, own_process(), ::gettid(), signal));
  }
  const std::optional<sigval> copy = value != nullptr ? std::optional(*value) : std::nullopt;
  return static_cast<int>(calls_.at<&Signals::send_here>(Rank{0}, signal, copy));
}

int Signals::send_to_thread(pid_t thread, int signal) noexcept {
  int error = send_to_own_thread(thread, signal);
  for (std::uint32_t rank = 0; error == ESRCH && rank < runtime_->ranks(); ++rank) {
    if (Rank{rank} == runtime_->self()) continue;
    error = static_cast<int>(calls_.at<&Signals::send_to_own_thread>(Rank{rank}, thread, signal));
  }
  return error;
}

int Signals::act(int signal, const struct sigaction& action) noexcept {
  return vm::FaultHandler::installed()->user_signals().action(signal, &action, nullptr);
}
int Signals::send_here(int signal, const std::optional<sigval>& value) noexcept {
  return value ? queue(false, signal, *value) : error_of(os::system_call(SYS_kill, own_process(), signal));
}
void Signals::forward(const siginfo_t& information) {
  watch_.send(information);
}
int Signals::send_to_own_thread(pid_t thread, int signal) noexcept {
  return error_of(os::system_call(SYS_tgkill, own_process(), thread, signal));
}

}  // namespace musubi::image
