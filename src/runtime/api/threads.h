// The threads of a rank: what each needs to touch shared memory, their stacks, and how they wait for each
// other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace musubi::runtime {

// The stack of one thread in the shared range; [low, high) is usable, a guard lies below.
struct ThreadStack {
  std::byte* low;
  std::byte* high;
  std::size_t slot;
};

class Threads {
 public:
  // Gives the calling thread its alternate signal stack and its executor; undone by detach. Every thread that
  // may touch shared memory is attached. Result: false when it was already.
  virtual bool attach() = 0;
  virtual void detach() = 0;
  // Counts a thread that touches shared memory, or will, and that no team waits for: from before it is made
  // until it has ended. Threads of the C API stay away from shared memory during collective calls: they count
  // from attach to detach. While there is such a thread, the rank's other threads in a barrier do not make
  // the rank quiescent.
  virtual void add_outsider() noexcept = 0;
  virtual void remove_outsider() noexcept = 0;

  // A stack for a new thread of this rank, pinned; ends the job with a clear line when no slot is free.
  virtual ThreadStack take_stack() = 0;
  // The same for a thread that does without if need be: none while fewer than half of the slots are free,
  // which are for teams.
  virtual std::optional<ThreadStack> take_spare_stack() = 0;
  virtual void give_back_stack(const ThreadStack& stack) = 0;
  // Notes which part of the calling thread's stack in `slot` other threads may need now: [low, high) takes
  // part in releases. To be called on entry to every call that releases. Cheap.
  virtual void note_stack(std::size_t slot, const void* low, const void* high) noexcept = 0;

  // Makes waiting polite while more threads than cores run in the job: called by the front end when the
  // number of threads of this rank changes.
  virtual void set_count(std::uint32_t threads) noexcept = 0;

  // Waits until `*word != value` for intra-rank synchronisation, with the job's waiting policy (spin, yield,
  // futex); wake_local wakes the waiters after *word was changed.
  virtual void wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) = 0;
  virtual void wake_local(const std::atomic<std::uint32_t>* word) = 0;

 protected:
  ~Threads() = default;
};

}  // namespace musubi::runtime
