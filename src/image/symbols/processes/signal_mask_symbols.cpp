// Calls by which the program blocks signals: those that the runtime needs stay unblocked, invisibly to the
// program.
#include <pthread.h>
#include <signal.h>

#include <cerrno>

#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"
#include "image/symbols/processes/user_signals.h"
#include "os/signal_calls.h"

namespace musubi::image {
namespace {

constinit Next<int (*)(int, const sigset_t*, sigset_t*)> next_pthread_sigmask("pthread_sigmask");
constinit Next<int (*)(const sigset_t*)> next_sigsuspend("sigsuspend");
constinit Next<int (*)(pthread_attr_t*, const sigset_t*)> next_setsigmask("pthread_attr_setsigmask_np");

int fail(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

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
