// Where atomics of the program on shared memory go: the runtime's engine implements it.
#pragma once

#include <cstdint>

#include "base/atomic_operation.h"

namespace musubi::atomics {

// Calls come from any thread of the program, in the middle of any function, also inside malloc or under a
// lock of the program. They are plain calls (patched sites; signals are as the program left them) or come
// from the handler of a fault (emulate_at_fault). So: no malloc, no stdio, no lock that the program could
// hold. Blocking is allowed. All registers, vector state and errno are saved around the call. Throwing is not
// possible. A handler of a signal of the program may interrupt a call and call again on the same thread.
class AtomicSink {
 public:
  // Announces the instruction behind the one that is served next on this thread, and where the stack of the
  // program ends, its red zone included.
  virtual void at(std::uintptr_t /*next_instruction*/, std::uintptr_t /*stack_low*/) noexcept {}
  // Carries out `operation` on the `operation.bytes` bytes at `address`, as one indivisible step in respect
  // of all ranks. The first byte lies in the shared space. Result: what the word held before, zero above its
  // width. The instructions are sequentially consistent: machine code does not show the order of the source
  // (relaxed, acquire, ...). The word may have any alignment and cross a block's end; the sink decides what
  // is indivisible then, as some processors do.
  virtual AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept = 0;
  // A full fence: `omp flush`, atomic_thread_fence. The processor's own fence is carried out besides.
  virtual void fence() noexcept = 0;

 protected:
  ~AtomicSink() = default;
};

}  // namespace musubi::atomics
