// Signals of this process that no thread of it takes: its threads wait in the runtime, where handlers may not
// run, or it has none that runs program code. The initial thread, which does nothing else, sees to them.
#pragma once

#include <signal.h>

#include <atomic>
#include <vector>

#include "base/result.h"
#include "base/spin_lock.h"
#include "os/signal_calls.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

class SignalWatch {
 public:
  // Hands a signal to the process that the program knows. On the watching thread.
  using Forward = void (*)(const siginfo_t& signal);

  // Opens what the thread looks at: before the program can have descriptors. Errors: no descriptor left.
  Result<void> open();
  // On the initial thread, which blocks all signals, until end(). At rank 0 such signals are handled here,
  // while main waits in the runtime and would take them; at other ranks `forward` gets them.
  void watch(runtime::Runtime& runtime, Forward forward);
  void end() noexcept;
  // Sends a signal to this process with all that it carries, which the kernel allows to the initial thread
  // alone. Any thread.
  void send(const siginfo_t& signal);

 private:
  void wake() noexcept;
  void send_given();
  void look();
  void serve(os::SignalBits signals);

  int file_ = -1;  // an epoll(7) with a signalfd(2) and this:
  int bell_ = -1;
  std::atomic<bool> ended_{false};
  SpinLock lock_;
  std::vector<siginfo_t> given_ MUSUBI_GUARDED_BY(lock_);
  runtime::Runtime* runtime_ = nullptr;
  Forward forward_ = nullptr;
};

}  // namespace musubi::image
