// co_await transfer(...) / deliver(...): a batch or a message as an awaitable. Both retry on busy. With a
// driver that completes at once nothing suspends and no frame is allocated.
#pragma once

#include <optional>
#include <span>

#include "base/task.h"
#include "fabric/fabric.h"

namespace musubi::fabric {

class [[nodiscard]] Transfer {
 public:
  Transfer(Fabric& fabric, Rank peer, std::span<const Step> steps) noexcept
      : fabric_(fabric), peer_(peer), steps_(steps) {}

  bool await_ready() noexcept {
    outcome_ = fabric_.post(peer_, steps_, completion_);
    return outcome_ == Outcome::done;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
    if (outcome_ == Outcome::busy) {
      retry_.emplace(post_until_taken(*this));
      retry_->start(waiting.promise().executor(), nullptr);
    }
    waiter_.emplace(completion_.operator co_await());
    return waiter_->await_suspend(waiting);
  }
  void await_resume() const noexcept {}

 private:
  static Task<> post_until_taken(Transfer& self) {
    for (unsigned attempt = 0;; ++attempt) {
      co_await pause(attempt);
      self.outcome_ = self.fabric_.post(self.peer_, self.steps_, self.completion_);
      if (self.outcome_ == Outcome::busy) continue;
      if (self.outcome_ == Outcome::done) self.completion_.set();
      co_return;
    }
  }

  Fabric& fabric_;
  Rank peer_;
  std::span<const Step> steps_;
  Outcome outcome_ = Outcome::done;
  Event completion_;
  std::optional<Task<>> retry_;
  std::optional<decltype(std::declval<Event&>().operator co_await())> waiter_;
};

// REQUIRES: `steps` and its buffers live in the awaiting task's frame or longer.
inline Transfer transfer(Fabric& fabric, Rank peer, std::span<const Step> steps) noexcept {
  return Transfer(fabric, peer, steps);
}

// Sends a message, retrying while the fabric is busy.
inline Task<> deliver(Fabric& fabric, Rank peer, MessageKind kind, Urgency urgency,
                      std::span<const std::byte> body) {
  for (unsigned attempt = 0; fabric.send(peer, kind, urgency, body) == Outcome::busy; ++attempt) {
    co_await pause(attempt);
  }
}

}  // namespace musubi::fabric
