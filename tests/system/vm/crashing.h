// Ways to crash, and the handlers that a process with the driver has installed.
#pragma once

#include "vm/signal/alternate_stack.h"
#include "vm/signal/fault_handler.h"

// Never inlined: the tests look for these names in backtraces.
[[gnu::noinline]] inline void write_through_null(volatile int* pointer) {
  *pointer = 1;
}
[[gnu::noinline]] inline int divide(volatile int* dividend, volatile int* divisor) {
  return *dividend / *divisor;
}

namespace musubi::vm {

inline volatile int* volatile null_pointer = nullptr;

struct Handlers {
  Handlers() : handler(Rank{2}) {
    MUSUBI_CHECK(stack.install().ok());
    handler.install();
  }
  UserSignals& user() { return handler.user_signals(); }

  AlternateStack stack;
  FaultHandler handler;
};

}  // namespace musubi::vm
