// The stack on which a thread handles signals: its own stack may be full, or closed shared memory.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "os/signal_calls.h"

namespace musubi::vm {

// One per thread that touches shared memory; lives on that thread from install() to its end.
class AlternateStack {
 public:
  // Room for the protocol, a nested fault handler, and the crash report on top of both.
  static constexpr std::size_t default_bytes = std::size_t{8} << 20;

  AlternateStack() = default;
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

  // Gives the calling thread `bytes` of stack for its handlers, with a guard page below. Once per object.
  // Errors: no memory.
  Result<void> install(std::size_t bytes = default_bytes);

  // The calling thread's, or null. Any thread, also inside a handler.
  static AlternateStack* current() noexcept;

  bool contains(std::uintptr_t address) const noexcept { return address - low_ < bytes_; }
  // In the kernel's form.
  stack_t as_installed() const noexcept { return {reinterpret_cast<void*>(low_), 0, bytes_}; }
  // Private memory for the return from a handler (os/signal_frame.h), above the stack.
  std::byte* return_memory() const noexcept { return reinterpret_cast<std::byte*>(low_ + bytes_); }

  // The handlers' state of this thread.
  struct UserView {
    os::SignalBits blocked = 0;  // signals that the program takes for blocked, though they are not
    os::SignalBits blocked_in_handler = 0;
    // The program's handler runs below this address of the stack; 0: none runs.
    std::uintptr_t handler_frame = 0;
    // The fault for which the program's handler was called, and the interrupted context; null: none.
    const siginfo_t* fault = nullptr;
    const ucontext_t* fault_context = nullptr;
    std::uintptr_t runtime_frame = 0;       // the runtime's handler runs below this address; 0: none
    stack_t stack{nullptr, SS_DISABLE, 0};  // the program's argument of sigaltstack
  };
  UserView user;

 private:
  std::byte* memory_ = nullptr;
  std::uintptr_t low_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace musubi::vm
