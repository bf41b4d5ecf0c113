// The threads of a rank: the resources that each needs to touch shared memory, their stacks, and waits among
// them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace musubi::runtime {

// The stack of one thread in the shared range; [low, high) is usable, and a guard precedes it.
struct ThreadStack {
  std::byte* low;
  std::byte* high;
  std::size_t slot;
};

class Threads {
 public:
  // Gives the calling thread its alternate signal stack and its executor; undone by detach. Every thread that
  // may touch shared memory must be attached. Result: false if it already was.
  virtual bool attach() = 0;
  virtual void detach() = 0;
  // Counts a thread outside all teams that touches shared memory, or will: from before its creation until it
  // has ended. Threads of the C API do not touch shared memory during collective calls: they count from
  // attach to detach. While the count is not zero, the rank is not quiescent even if its other threads are in
  // a barrier.
  virtual void add_outsider() noexcept = 0;
  virtual void remove_outsider() noexcept = 0;
  // Such a thread may appear at any time, also while the rank waits in a barrier, because another rank makes
  // it: from now on the rank is never quiescent. Before the first barrier of the program, on all ranks.
  virtual void expect_outsiders() noexcept = 0;

  // A stack for a new thread of this rank, pinned; ends the job with a message if no slot is free.
  virtual ThreadStack take_stack() = 0;
  // The same for a thread that can do without: none while fewer than half of the slots, which are for teams,
  // are free.
  virtual std::optional<ThreadStack> take_spare_stack() = 0;
  virtual void give_back_stack(const ThreadStack& stack) = 0;
  // Sets the part of the calling thread's stack in `slot` that other threads may need: [low, high) takes part
  // in releases. Call it on entry to every call that releases. Cheap.
  virtual void note_stack(std::size_t slot, const void* low, const void* high) noexcept = 0;

  // Makes waits polite while the job runs more threads than cores: the front end calls it when this rank's
  // number of threads changes.
  virtual void set_count(std::uint32_t threads) noexcept = 0;

  // Waits until `*word != value`, for synchronisation within the rank, with the job's waiting policy (spin,
  // yield, futex); wake_local wakes the waiting threads after *word was changed.
  virtual void wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) = 0;
  virtual void wake_local(const std::atomic<std::uint32_t>* word) = 0;

 protected:
  ~Threads() = default;
};

// The shared stack of the calling thread. Front ends, and the heap below them, report its used depth before a
// release.

// Registers a stack of the shared range as the calling thread's. `end`, in [stack.low, stack.high]: no other
// thread knows an address above it. `threads` outlives the thread's last note_stack.
void adopt_stack(Threads& threads, const ThreadStack& stack, const void* end);

// In a child made by fork: stops the reports for the calling thread's stack.
void forget_stack() noexcept;

// Reports the used depth of the calling thread's stack before a release: called on entry from the program
// with the address of the frame. No effect for frames elsewhere (a handler on its own stack) or threads
// without a shared stack. Signal-safe; never blocks.
void note_stack(const void* frame) noexcept;

}  // namespace musubi::runtime
