// Delivers signals of this process that none of its threads takes: they wait in the runtime, where handlers
// may not run, or none of them runs program code. The initial thread, otherwise idle, delivers them.
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
  // Passes a signal to the process that the program knows. On the watching thread.
  using Forward = void (*)(const siginfo_t& signal);

  // Opens the descriptors of the watch: before the program can have any. Errors: no descriptor left.
  Result<void> open();
  // Runs on the initial thread, which blocks all signals, until end(). On rank 0 it handles signals here
  // while main, which would take them, waits in the runtime; on other ranks it passes them to `forward`.
  void watch(runtime::Runtime& runtime, Forward forward);
  void end() noexcept;
  // Sends a signal with all its data to this process, which the kernel permits only to the initial thread.
  // Any thread.
  void send(const siginfo_t& signal);

 private:
  void wake() noexcept;
  void send_given();
  void look();
  void serve(os::SignalBits signals);

  int file_ = -1;  // an epoll(7) of a signalfd(2) and of bell_
  int bell_ = -1;
  std::atomic<bool> ended_{false};
  SpinLock lock_;
  std::vector<siginfo_t> given_ MUSUBI_GUARDED_BY(lock_);
  runtime::Runtime* runtime_ = nullptr;
  Forward forward_ = nullptr;
};

}  // namespace musubi::image
