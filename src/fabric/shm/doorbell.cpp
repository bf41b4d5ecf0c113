#include "fabric/shm/doorbell.h"

#include "os/futex.h"
#include "os/sockets.h"

namespace musubi::fabric {

void ring(Mailbox& mailbox, Ropes ropes, bool urgent) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mailbox.asleep.load(std::memory_order_relaxed) != 0) {
    if (mailbox.polling.load(std::memory_order_relaxed) != 0) return;
    if (mailbox.rung.exchange(1, std::memory_order_acq_rel) != 0) return;
    mailbox.bell.fetch_add(1, std::memory_order_release);
    // One thread is enough, because it delivers everything.
    if (ropes.waiters >= 0) {
      os::WakeupPipe::ring_by(ropes.waiters);
    } else {
      os::futex_wake(mailbox.bell, 1);
    }
    return;
  }
  if (!urgent && mailbox.prompt_messages.load(std::memory_order_relaxed) == 0) return;
  if (mailbox.polling.load(std::memory_order_relaxed) == 0) ring_service(mailbox, ropes);
}

void ring_all_waiters(Mailbox& mailbox) noexcept {
  // Orders earlier actions of the caller (setting `ready`) before the read of `asleep`.
  mailbox.bell.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mailbox.asleep.load(std::memory_order_relaxed) != 0) os::futex_wake(mailbox.bell);
}

void ring_service(Mailbox& mailbox, Ropes ropes) noexcept {
  mailbox.service_bell.fetch_add(1, std::memory_order_seq_cst);
  if (mailbox.service_asleep.load(std::memory_order_seq_cst) == 0) return;
  if (ropes.service >= 0) {
    os::WakeupPipe::ring_by(ropes.service);
  } else {
    os::futex_wake(mailbox.service_bell);
  }
}

Stay::Stay(Mailbox& mailbox) noexcept
    : mailbox_(mailbox), bell_(mailbox.bell.load(std::memory_order_acquire)) {
  mailbox_.polling.fetch_add(1, std::memory_order_seq_cst);
}

Stay::~Stay() {
  if (asleep_) {
    mailbox_.asleep.fetch_sub(1, std::memory_order_seq_cst);
    mailbox_.rung.store(0, std::memory_order_relaxed);
  } else {
    mailbox_.polling.fetch_sub(1, std::memory_order_seq_cst);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Stay::announce_sleep() noexcept {
  asleep_ = true;
  mailbox_.asleep.fetch_add(1, std::memory_order_seq_cst);
  mailbox_.rung.store(0, std::memory_order_relaxed);
  mailbox_.polling.fetch_sub(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Stay::sleep() const noexcept {
  os::futex_wait(mailbox_.bell, bell_);
}

}  // namespace musubi::fabric
