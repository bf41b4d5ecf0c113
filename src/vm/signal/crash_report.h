// The report to the user of a program that dies by a signal.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "os/signal_frame.h"
#include "vm/signal/crash_text.h"
#include "vm/signal/stack_registry.h"

namespace musubi::vm {

// A listener that can tell the user more than the dying process: see bootstrap/bootstrap.h. Signal-safe.
class CrashListener {
 public:
  virtual void tell_crash(std::string_view cause) noexcept = 0;
  // False: it wrote nothing.
  virtual bool tell_frames(std::span<const std::uintptr_t> frames) noexcept = 0;

 protected:
  ~CrashListener() = default;
};

class CrashReport {
 public:
  struct Crash {
    int signal;
    const siginfo_t& information;
    const ucontext_t& context;
    const StackRegistry::Stack* overflown;  // the stack whose guard was touched, or null
    const char* remark;                     // more about the address, or null
    bool in_runtime;                        // the signal interrupted the runtime's handler, not the program
  };

  explicit CrashReport(Rank rank) noexcept : rank_(rank) {}

  // Loads the parts that a backtrace needs, which would call malloc later. At start.
  void prepare() const noexcept;
  // `listener` outlives this. `runtime_frames`: backtraces show the runtime's own functions, too.
  void set_listener(CrashListener* listener, bool runtime_frames) noexcept {
    listener_ = listener;
    runtime_frames_ = runtime_frames;
  }
  // Writes one line on the cause, then the backtrace of the interrupted code, to the listener or else to
  // standard error. Inside a signal handler.
  void write(const Crash& crash) const noexcept;

 private:
  void write_cause(CrashText& text, const Crash& crash, const os::FaultContext& context) const noexcept;
  std::size_t find_frames(const Crash& crash, const os::FaultContext& context,
                          std::span<std::uintptr_t> frames) const noexcept;

  Rank rank_;
  CrashListener* listener_ = nullptr;
  bool runtime_frames_ = false;
};

}  // namespace musubi::vm
