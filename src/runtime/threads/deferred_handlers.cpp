#include "runtime/threads/deferred_handlers.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "os/system_call.h"
#include "vm/signal/fault_handler.h"

namespace musubi::runtime {
namespace {

os::SignalBits with_handler() noexcept {
  vm::FaultHandler* const handler = vm::FaultHandler::installed();
  return handler != nullptr ? handler->user_signals().with_handler() : 0;
}

// Sends the signal again to the calling thread, with all its data.
void send_again(const siginfo_t& signal) noexcept {
  os::system_call(SYS_rt_tgsigqueueinfo, os::system_call(SYS_getpid), os::system_call(SYS_gettid),
                  signal.si_signo, os::as_argument(&signal));
}

// Takes one pending signal of that number. Result: whether there was one.
bool take_pending(int signal, siginfo_t& taken) noexcept {
  const os::SignalBits only = os::signal_bit(signal);
  const timespec no_time{};
  return os::system_call(SYS_rt_sigtimedwait, os::as_argument(&only), os::as_argument(&taken),
                         os::as_argument(&no_time), sizeof only) == signal;
}

}  // namespace

constinit thread_local int DeferredHandlers::depth_ = 0;
constinit thread_local DeferredHandlers::Deferred DeferredHandlers::deferred_{};

bool DeferredHandlers::defer(int signal, const siginfo_t& information, ucontext_t& context) noexcept {
  if (depth_ == 0) return false;
  Deferred& deferred = deferred_;
  const os::SignalBits wait =
      (with_handler() | os::signal_bit(signal)) & ~os::signal_bits(context.uc_sigmask);
  deferred.blocked |= wait;
  // The kernel's mask in a context has 8 bytes.
  const os::SignalBits masked = os::signal_bits(context.uc_sigmask) | wait;
  std::memcpy(&context.uc_sigmask, &masked, sizeof masked);
  if (deferred.count < deferred.signals.size()) {
    deferred.signals[deferred.count++] = information;
  } else {
    send_again(information);
  }
  return true;
}

// Queued signals that arrived later keep their order after it.
void DeferredHandlers::send_deferred() noexcept {
  Deferred& deferred = deferred_;
  for (std::size_t i = 0; i < deferred.count; ++i) {
    const siginfo_t& first = deferred.signals[i];
    std::array<siginfo_t, 8> later;
    std::size_t count = 0;
    while (first.si_signo >= SIGRTMIN && count < later.size() && take_pending(first.si_signo, later[count]))
      ++count;
    send_again(first);
    for (std::size_t j = 0; j < count; ++j) send_again(later[j]);
  }
  deferred.count = 0;
  const os::SignalBits blocked = deferred.blocked;
  deferred.blocked = 0;
  os::set_signal_mask(SIG_UNBLOCK, blocked);
}

constinit thread_local bool BlockedHandlers::is_main_ = false;
constinit std::atomic<os::SignalBits> BlockedHandlers::of_main_{0};

BlockedHandlers::BlockedHandlers() noexcept {
  const os::SignalBits handled = with_handler();
  if (handled == 0) return;
  any_ = true;
  mask_before_ = os::set_signal_mask(SIG_BLOCK, handled);
  const os::SignalBits held = handled & ~mask_before_;
  if (is_main_ && held != 0) of_main_.store(held, std::memory_order_relaxed);
}

BlockedHandlers::~BlockedHandlers() {
  if (!any_) return;
  if (is_main_ && (with_handler() & ~mask_before_) != 0) of_main_.store(0, std::memory_order_relaxed);
  os::set_signal_mask(SIG_SETMASK, mask_before_);
}

}  // namespace musubi::runtime
