// Wakes threads for messages. No wake-up is lost, for these reasons.
//
// A sender publishes a message, then checks the receiver (ring). A receiver announces itself, then checks the
// mailbox. Each has a sequentially consistent fence (FENCE) between its two steps. For any sender S and
// receiver R these fences are ordered, so at least one of them sees the other's first step (Dekker):
//
// - Sleep. R is about to sleep: asleep+1, polling-1, FENCE, check the mailbox, then futex_wait on the value
//   of the bell read before all this. If R's check missed the message, S's fence came after R's, so S sees
//   asleep > 0 and rings unless some thread polls: the bell changes before the futex_wake, so R either does
//   not fall asleep or is woken.
//
// - Leave. R leaves wait() for any reason: polling-1 (or asleep-1, rung=0), FENCE, deliver the mailbox. If S
//   found R polling and did not ring, S's fence came before R's, so R delivers the message.
//
// - Save calls. A sender that finds `rung` set relies on the sender that set it. Every sleeper clears it
//   before its FENCE and check, so the sleeper's check sees a message whose sender found it set.
//
// - Deliver alone. A thread that finds another thread delivering relies on it: the deliverer unlocks, FENCE,
//   checks again (ShmFabric::progress).
//
// - Ring late. A slow producer hides later messages in slots after its own. When it publishes, it rings for
//   them, too: sleepers are rung for any message, and `prompt_messages` shows whether one is for the service
//   thread.
//
// - Serve. The service thread sleeps on the value of the bell at which it last returned, so a ring before the
//   sleep is not lost. Only this thread clears `service_asleep`: a ringer may check again only after the
//   thread has seen its ring, worked, and announced its next sleep.
//
// - Ropes. An owner whose threads sleep in another driver (joint_sleep.h) is woken by a rope instead of the
//   futex. A pull before the sleep ends it, as the futex's comparison would.
#pragma once

#include "fabric/shm/mailbox.h"

namespace musubi::fabric {

// How to wake the owner of a mailbox if not by its futexes.
struct Ropes {
  int waiters = -1, service = -1;  // -1: by futex
};

// After mailbox_post: wakes the threads that this message is for. `urgent`: wakes the service thread if no
// thread waits. Any thread of any process; makes a system call only if a thread sleeps.
void ring(Mailbox& mailbox, Ropes ropes, bool urgent) noexcept;

// Wakes every thread in wait(), except those that sleep in another driver. Signal-safe.
void ring_all_waiters(Mailbox& mailbox) noexcept;
// Wakes the service thread. Signal-safe.
void ring_service(Mailbox& mailbox, Ropes ropes) noexcept;

// The scope of wait(): the thread counts as polling until it sleeps.
class Stay {
 public:
  explicit Stay(Mailbox& mailbox) noexcept;
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay();  // ends with FENCE; the caller then checks the mailbox

  // Whether the bell has rung since construction.
  bool rung() const noexcept { return mailbox_.bell.load(std::memory_order_acquire) != bell_; }

  // From now on the thread counts as asleep. Ends with FENCE; the caller checks once more, then sleeps.
  void announce_sleep() noexcept;
  // Blocks until the bell rings. REQUIRES: announce_sleep() was called.
  void sleep() const noexcept;

 private:
  Mailbox& mailbox_;
  const std::uint32_t bell_;
  bool asleep_ = false;
};

}  // namespace musubi::fabric
