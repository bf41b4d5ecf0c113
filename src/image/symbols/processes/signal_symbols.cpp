// Calls by which the program installs handlers (vm/signal/user_signals.h), blocks signals and sends them to
// itself: it never takes over or blocks the signals that the runtime needs, and does not notice them; it sees
// one process, with the threads of all ranks.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/processes/user_signals.h"
#include "os/signal_calls.h"

namespace musubi::image {
namespace {

using Handler = void (*)(int);
using vm::UserSignals;

constinit Next<int (*)(int, const struct sigaction*, struct sigaction*)> next_sigaction("sigaction");
constinit Next<int (*)(const stack_t*, stack_t*)> next_sigaltstack("sigaltstack");

// Signals of siginterrupt(3): they do not restart the calls that they interrupt.
constinit std::atomic<os::SignalBits> interrupting{0};

bool is_valid(int signal) {
  return signal >= 1 && signal <= 64;
}

int set_action(int signal, const struct sigaction* set, struct sigaction* old) {
  UserSignals* const signals = user_signals();
  return signals != nullptr ? set_action_everywhere(*signals, signal, set, old)
                            : next_sigaction.get()(signal, set, old);
}

// As signal(3) with these flags.
Handler set_handler(int signal, Handler handler, int flags) {
  struct sigaction set {
  }, old{};
  set.sa_handler = handler;
  set.sa_flags = flags;
  return set_action(signal, &set, &old) == 0 ? old.sa_handler : SIG_ERR;
}

// As BSD and glibc: the handler stays installed, and interrupted calls restart.
Handler set_lasting_handler(int signal, Handler handler) {
  const bool interrupts = is_valid(signal) && (interrupting.load() & os::signal_bit(signal)) != 0;
  return set_handler(signal, handler, interrupts ? 0 : SA_RESTART);
}

// As System V: the handler runs once, with its signal unblocked.
Handler set_handler_once(int signal, Handler handler) {
  return set_handler(signal, handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER);
}

bool is_same(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_sigaction == other.sa_sigaction && one.sa_flags == other.sa_flags &&
         os::signal_bits(one.sa_mask) == os::signal_bits(other.sa_mask);
}

}  // namespace

int set_action_everywhere(UserSignals& signals, int signal, const struct sigaction* set,
                          struct sigaction* old) noexcept {
  if (set == nullptr) return signals.action(signal, nullptr, old);
  const struct sigaction wanted = *set;
  struct sigaction before {};
  const int result = signals.action(signal, &wanted, &before);
  if (result != 0) return result;
  if (old != nullptr) *old = before;
  // A handler that installs itself again is the common case.
  Job* const job = job_of_ranks();
  if (job != nullptr && !is_same(wanted, before)) job->signals.spread(signal, wanted);
  return 0;
}

}  // namespace musubi::image

using musubi::image::Handler;

MUSUBI_EXPORT int sigaction(int signal, const struct sigaction* set, struct sigaction* old) noexcept {
  return musubi::image::set_action(signal, set, old);
}
MUSUBI_EXPORT int __sigaction(int signal, const struct sigaction* set, struct sigaction* old) noexcept {
  return musubi::image::set_action(signal, set, old);
}

MUSUBI_EXPORT Handler signal(int signal, Handler handler) noexcept {
  return musubi::image::set_lasting_handler(signal, handler);
}
MUSUBI_EXPORT Handler bsd_signal(int signal, Handler handler) noexcept {
  return musubi::image::set_lasting_handler(signal, handler);
}
MUSUBI_EXPORT Handler ssignal(int signal, Handler handler) noexcept {
  return musubi::image::set_lasting_handler(signal, handler);
}
MUSUBI_EXPORT Handler sysv_signal(int signal, Handler handler) noexcept {
  return musubi::image::set_handler_once(signal, handler);
}
MUSUBI_EXPORT Handler __sysv_signal(int signal, Handler handler) noexcept {
  return musubi::image::set_handler_once(signal, handler);
}

MUSUBI_EXPORT int sigignore(int signal) noexcept {
  return musubi::image::set_handler(signal, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

MUSUBI_EXPORT int siginterrupt(int signal, int interrupts) noexcept {
  struct sigaction action {};
  if (musubi::image::set_action(signal, nullptr, &action) != 0) return -1;
  const musubi::os::SignalBits bit = musubi::os::signal_bit(signal);
  if (interrupts != 0) {
    musubi::image::interrupting.fetch_or(bit);
    action.sa_flags &= ~SA_RESTART;
  } else {
    musubi::image::interrupting.fetch_and(~bit);
    action.sa_flags |= SA_RESTART;
  }
  return musubi::image::set_action(signal, &action, nullptr);
}

// X/Open: sets the handler and the signal's bit in the mask.
MUSUBI_EXPORT Handler sigset(int signal, Handler handler) noexcept {
  const auto hold = reinterpret_cast<Handler>(2);  // SIG_HOLD
  if (!musubi::image::is_valid(signal)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  const sigset_t only = musubi::os::signal_set(musubi::os::signal_bit(signal));
  sigset_t before{};
  struct sigaction now {};
  if (handler == hold) {
    if (musubi::image::set_action(signal, nullptr, &now) != 0) return SIG_ERR;
    musubi::image::set_mask(SIG_BLOCK, &only, &before);
  } else {
    now.sa_handler = musubi::image::set_handler(signal, handler, 0);
    if (now.sa_handler == SIG_ERR) return SIG_ERR;
    musubi::image::set_mask(SIG_UNBLOCK, &only, &before);
  }
  return (musubi::os::signal_bits(before) & musubi::os::signal_bit(signal)) != 0 ? hold : now.sa_handler;
}

MUSUBI_EXPORT int sigaltstack(const stack_t* set, stack_t* old) noexcept {
  if (auto* const signals = musubi::image::user_signals()) return signals->alternate_stack(set, old);
  return musubi::image::next_sigaltstack.get()(set, old);
}

namespace musubi::image {
namespace {

constinit Next<int (*)(int, const sigset_t*, sigset_t*)> next_pthread_sigmask("pthread_sigmask");
constinit Next<int (*)(const sigset_t*)> next_sigsuspend("sigsuspend");
constinit Next<int (*)(pthread_attr_t*, const sigset_t*)> next_setsigmask("pthread_attr_setsigmask_np");

int change(int how, int signal) {
  if (signal < 1 || signal > 64) return fail(EINVAL);
  const sigset_t only = os::signal_set(os::signal_bit(signal));
  return fail(set_mask(how, &only, nullptr));
}

// The old BSD calls know 32 signals.
int change_old(int how, int bits) {
  const sigset_t set = os::signal_set(static_cast<unsigned>(bits));
  sigset_t before{};
  set_mask(how, &set, &before);
  return static_cast<int>(os::signal_bits(before));
}

int suspend(const sigset_t* mask) {
  return next_sigsuspend.get()(WaitingMask(mask).get());
}

// Waits with one signal removed from the mask, or with a mask of these bits.
int pause_for(int signal_or_bits, bool is_signal) {
  sigset_t mask = os::signal_set(static_cast<unsigned>(signal_or_bits));
  if (is_signal) {
    if (signal_or_bits < 1 || signal_or_bits > 64) return fail(EINVAL);
    set_mask(SIG_BLOCK, nullptr, &mask);
    mask = os::signal_set(os::signal_bits(mask) & ~os::signal_bit(signal_or_bits));
  }
  return suspend(&mask);
}

}  // namespace

int set_mask(int how, const sigset_t* set, sigset_t* old) noexcept {
  if (vm::UserSignals* const signals = user_signals()) return signals->mask(how, set, old);
  return next_pthread_sigmask.get()(how, set, old);
}

}  // namespace musubi::image

MUSUBI_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return musubi::image::set_mask(how, set, old);
}
MUSUBI_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return musubi::image::fail(musubi::image::set_mask(how, set, old));
}
MUSUBI_EXPORT int sighold(int signal) noexcept {
  return musubi::image::change(SIG_BLOCK, signal);
}
MUSUBI_EXPORT int sigrelse(int signal) noexcept {
  return musubi::image::change(SIG_UNBLOCK, signal);
}
MUSUBI_EXPORT int sigblock(int bits) noexcept {
  return musubi::image::change_old(SIG_BLOCK, bits);
}
MUSUBI_EXPORT int sigsetmask(int bits) noexcept {
  return musubi::image::change_old(SIG_SETMASK, bits);
}

MUSUBI_EXPORT int sigsuspend(const sigset_t* mask) {
  return musubi::image::suspend(mask);
}
// The headers give sigpause two other names, one for each meaning.
extern "C" __attribute__((visibility("default"))) int pause_with_bits(int bits) __asm__("sigpause");
extern "C" int pause_with_bits(int bits) {
  return musubi::image::pause_for(bits, false);
}
extern "C" __attribute__((visibility("default"))) int pause_for_signal(int signal) __asm__("__xpg_sigpause");
extern "C" int pause_for_signal(int signal) {
  return musubi::image::pause_for(signal, true);
}
extern "C" __attribute__((visibility("default"))) int pause_for_either(int signal_or_bits,
                                                                       int is_signal) __asm__("__sigpause");
extern "C" int pause_for_either(int signal_or_bits, int is_signal) {
  return musubi::image::pause_for(signal_or_bits, is_signal != 0);
}

// For a thread that has not started.
MUSUBI_EXPORT int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* mask) {
  const auto set = musubi::image::next_setsigmask.get();
  return set == nullptr ? ENOSYS : set(attributes, musubi::image::WaitingMask(mask).get());
}

namespace musubi::image {
namespace {

constinit Next<int (*)(pid_t, int)> next_kill("kill");
constinit Next<int (*)(pid_t, int, sigval)> next_queue("sigqueue");
constinit Next<int (*)(pid_t, pid_t, int)> next_thread_kill("tgkill");

}  // namespace

Job* job_addressed_by(pid_t process) noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr && process == job->attributes.process_ids().process ? job : nullptr;
}

}  // namespace musubi::image

using namespace musubi::image;

MUSUBI_EXPORT int kill(pid_t process, int signal) noexcept {
  Job* const job = job_addressed_by(process);
  return job == nullptr ? next_kill.get()(process, signal)
                        : musubi::image::fail(job->signals.send_to_process(signal, nullptr));
}
MUSUBI_EXPORT int sigqueue(pid_t process, int signal, const sigval value) noexcept {
  Job* const job = job_addressed_by(process);
  return job == nullptr ? next_queue.get()(process, signal, value)
                        : musubi::image::fail(job->signals.send_to_process(signal, &value));
}
MUSUBI_EXPORT int tgkill(pid_t process, pid_t thread, int signal) {
  Job* const job = job_addressed_by(process);
  return job == nullptr ? next_thread_kill.get()(process, thread, signal)
                        : musubi::image::fail(job->signals.send_to_thread(thread, signal));
}
