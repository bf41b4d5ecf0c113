// The program's view of signals (vm/signal/user_signals.h): it never blocks or takes over those that the
// runtime needs, and need not know.
#include <signal.h>

#include <cerrno>

#include "image/real_function.h"
#include "image/symbols/exported.h"
#include "vm/signal/fault_handler.h"

namespace {

using musubi::image::next_definition;
using musubi::vm::FaultHandler;
using musubi::vm::UserSignals;
using Handler = void (*)(int);

UserSignals* user_signals() {
  FaultHandler* const handler = FaultHandler::installed();
  return handler == nullptr ? nullptr : &handler->user_signals();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_definition(name));
}

int change_mask(int how, const sigset_t* set, sigset_t* old) {
  if (UserSignals* const signals = user_signals()) return signals->mask(how, set, old);
  static const auto plain = next<int (*)(int, const sigset_t*, sigset_t*)>("pthread_sigmask");
  return plain(how, set, old);
}

Handler set_handler(int signal, Handler handler) {
  if (UserSignals* const signals = user_signals()) return signals->handler(signal, handler);
  static const auto plain = next<Handler (*)(int, Handler)>("signal");
  return plain(signal, handler);
}

}  // namespace

MUSUBI_EXPORT int sigaction(int signal, const struct sigaction* set, struct sigaction* old) noexcept {
  if (UserSignals* const signals = user_signals()) return signals->action(signal, set, old);
  static const auto plain = next<int (*)(int, const struct sigaction*, struct sigaction*)>("sigaction");
  return plain(signal, set, old);
}

MUSUBI_EXPORT Handler signal(int signal, Handler handler) noexcept {
  return set_handler(signal, handler);
}
MUSUBI_EXPORT Handler bsd_signal(int signal, Handler handler) noexcept {
  return set_handler(signal, handler);
}

MUSUBI_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask(how, set, old);
}
MUSUBI_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  const int error = change_mask(how, set, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

MUSUBI_EXPORT int sigaltstack(const stack_t* set, stack_t* old) noexcept {
  if (UserSignals* const signals = user_signals()) return signals->alternate_stack(set, old);
  static const auto plain = next<int (*)(const stack_t*, stack_t*)>("sigaltstack");
  return plain(set, old);
}
