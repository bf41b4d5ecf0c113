// A part of the runtime that handles some signals. Several parts may share a signal: they are asked in the
// order in which they were added.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace musubi::vm {

struct SignalVerdict {
  enum class Kind : std::uint8_t {
    resolved,  // the interrupted instruction may be retried
    foreign,   // another owner's: ask the next owner, then the program's own handler, then end the program
    fatal,     // end the program without asking it: `remark` says why
  };
  Kind kind = Kind::foreign;
  const char* remark = nullptr;  // of fatal and foreign: appended to the crash report's line unless null
  bool no_access = false;        // of foreign: without the runtime the program would get SIGSEGV
};

class SignalOwner {
 public:
  // Inside the signal handler, on the alternate stack. May change `context`. The caller keeps errno.
  virtual SignalVerdict on_signal(int signal, const siginfo_t& information, ucontext_t& context) noexcept = 0;

 protected:
  ~SignalOwner() = default;
};

}  // namespace musubi::vm
