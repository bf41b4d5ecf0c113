// The destination of the program's atomics on shared memory: the runtime's engine implements it.
#pragma once

#include <cstdint>

#include "base/atomic_operation.h"

namespace musubi::atomics {

// Calls come from any thread of the program, in the middle of any function, also inside malloc or under a
// lock of the program. They are plain calls (patched sites; signals are as the program left them) or calls
// from a fault handler (emulate_at_fault). So: no malloc, no stdio, no lock that the program could hold, no
// exception. Blocking is allowed. All registers, vector state and errno are saved around the call. A signal
// handler of the program may interrupt a call and call again on the same thread.
class AtomicSink {
 public:
  // Announces the address after the instruction that is served next on this thread, and the low end of the
  // program's stack, including its red zone.
  virtual void at(std::uintptr_t /*next_instruction*/, std::uintptr_t /*stack_low*/) noexcept {}
  // Carries out `operation` on the `operation.bytes` bytes at `address`, as one indivisible step for all
  // ranks. The first byte is in the shared space. Result: the old value, zero above its width. The operation
  // is sequentially consistent: machine code does not show the memory order of the source (relaxed, acquire,
  // ...). The word may have any alignment and cross a block's end; then the sink decides which part is
  // indivisible, as some processors do.
  virtual AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept = 0;
  // A full fence: `omp flush`, atomic_thread_fence. The processor's own fence is executed as well.
  virtual void fence() noexcept = 0;

 protected:
  ~AtomicSink() = default;
};

}  // namespace musubi::atomics
