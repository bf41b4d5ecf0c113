// What the user reads when the program dies by a signal.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "base/ids.h"
#include "vm/signal/stack_registry.h"

namespace musubi::vm {

class CrashReport {
 public:
  struct Crash {
    int signal;
    const siginfo_t& information;
    const ucontext_t& context;
    const StackRegistry::Stack* overflown;  // the stack whose guard was touched, or null
    const char* remark;                     // more about the address, or null
    bool in_runtime;                        // the runtime's handler was interrupted, not the program
  };

  explicit CrashReport(Rank rank) noexcept : rank_(rank) {}

  // Loads what the backtrace needs, which would call malloc later. At start.
  void prepare() const noexcept;
  // One line on the cause, then the backtrace of the interrupted code, to standard error. Inside a signal
  // handler.
  void write(const Crash& crash) const noexcept;

 private:
  Rank rank_;
};

}  // namespace musubi::vm
