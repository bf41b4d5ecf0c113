// Stands in for the runtime's SIGTRAP handler.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "atomics/patch.h"

namespace musubi::atomics {

inline volatile sig_atomic_t foreign_traps = 0;

inline void on_trap(int, siginfo_t* information, void* context) {
  if (!serve_trap(*information, *static_cast<ucontext_t*>(context))) foreign_traps = foreign_traps + 1;
}

inline void take_traps() {
  struct sigaction action {};
  action.sa_sigaction = &on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  ASSERT_EQ(::sigaction(SIGTRAP, &action, nullptr), 0);
}

}  // namespace musubi::atomics
