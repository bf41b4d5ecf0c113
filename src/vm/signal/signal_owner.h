// A part of the runtime that takes some signals for itself. Several parts may share one signal: they are
// asked in the order in which they were added.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace musubi::vm {

struct SignalVerdict {
  enum class Kind : std::uint8_t {
    resolved,  // the interrupted instruction may be tried again
    foreign,   // not mine: the next owner, then the program's own handler, then the end
    fatal,     // the end, without asking the program: `remark` says why
  };
  Kind kind = Kind::foreign;
  const char* remark = nullptr;  // of fatal and foreign: put behind the crash report's line when not null
  bool no_access = false;        // of foreign: it is SIGSEGV that the program would get without the runtime
};

class SignalOwner {
 public:
  // Inside the signal handler, on the alternate stack. May change `context`. errno is kept by the caller.
  virtual SignalVerdict on_signal(int signal, const siginfo_t& information, ucontext_t& context) noexcept = 0;

 protected:
  ~SignalOwner() = default;
};

}  // namespace musubi::vm
