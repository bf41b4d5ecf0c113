// Wakes threads for messages. This comment shows why no wake-up is lost.
//
// A sender publishes a message, then looks at the receiver (ring). A receiver announces itself, then looks at
// the mailbox. Between the two steps of either stands a sequentially consistent fence, so of any sender S and
// receiver R whose fences are ordered one way or the other, at least one sees what the other did first
// (Dekker):
//
// - Sleep. R about to sleep: asleep+1, polling-1, FENCE, look at the mailbox, then futex_wait on the value of
// the bell read before all this. If R's look missed the message, S's fence came after R's, so S sees asleep >
// 0 and, unless somebody polls, rings: the bell changes before the futex_wake, so R either does not fall
// asleep or is woken.
//
// - Leave. R leaves wait() for whatever reason: polling-1 (or asleep-1, rung=0), FENCE, deliver what lies in
// the mailbox. If S found R polling and rang nothing, S's fence came before R's: R delivers the message.
//
// - Save calls. A sender that finds `rung` set leaves the ringing to the one that set it. Every sleeper
// clears it before FENCE and look, so a message whose sender found it set is seen by the sleeper on its way.
//
// - Deliver alone. A thread that finds another one delivering relies on it: the deliverer unlocks, FENCE,
// looks again (ShmFabric::progress).
//
// - Ring late. A slow producer hides later messages behind its slot. When it publishes at last it rings for
// them: sleepers are rung for any message, and `prompt_messages` tells that one of them was for the service
// thread.
//
// - Serve. The service thread sleeps on the bell value at which it last returned: a ring before it sleeps is
// not lost. Only this thread takes `service_asleep` back. A ringer may look again only when the thread has
// heard its ring, worked, and announced its next sleep.
//
// - Ropes. Threads of an owner that sleep elsewhere (joint_sleep.h) hear a rope instead of the futex. A pull
// that comes before the sleep ends it, as the futex's comparison would.
#pragma once

#include "fabric/shm/mailbox.h"

namespace musubi::fabric {

// How to wake the owner of a mailbox, beside what stands in it.
struct Ropes {
  int waiters = -1, service = -1;  // -1: by futex
};

// After mailbox_post: wakes whom this message concerns. `urgent`: when nobody waits, the service thread.
// Any thread of any process; a system call only when somebody sleeps.
void ring(Mailbox& mailbox, Ropes ropes, bool urgent) noexcept;

// Wakes every thread in wait(), but for those that sleep elsewhere. Signal-safe.
void ring_all_waiters(Mailbox& mailbox) noexcept;
// Wakes the service thread. Signal-safe.
void ring_service(Mailbox& mailbox, Ropes ropes) noexcept;

// A stay in wait(): counted as polling until it sleeps.
class Stay {
 public:
  explicit Stay(Mailbox& mailbox) noexcept;
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay();  // ends with FENCE; the caller then looks at the mailbox

  // Whether the bell was rung since the stay began.
  bool rung() const noexcept { return mailbox_.bell.load(std::memory_order_acquire) != bell_; }

  // From now on this thread counts as asleep. Ends with FENCE; the caller looks once more, then sleeps.
  void announce_sleep() noexcept;
  // Until the bell is rung. REQUIRES: announce_sleep() was called.
  void sleep() const noexcept;

 private:
  Mailbox& mailbox_;
  const std::uint32_t bell_;
  bool asleep_ = false;
};

}  // namespace musubi::fabric
