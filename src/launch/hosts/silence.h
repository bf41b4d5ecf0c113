// When to send a sign of life, and whether a loop that checks for silence was itself stopped.
#pragma once

#include <chrono>
#include <cstdint>

namespace musubi::launch {

class Heartbeat {
 public:
  // A sign of life is due four times per `timeout`.
  explicit Heartbeat(std::chrono::nanoseconds timeout, std::uint64_t now_ns)
      : timeout_ns_(static_cast<std::uint64_t>(timeout.count())), due_ns_(now_ns), looked_ns_(now_ns) {}

  std::uint64_t due_ns() const { return due_ns_; }
  std::int64_t patience_ms() const { return static_cast<std::int64_t>(timeout_ns_ / 1'000'000); }
  // Whether a sign of life is due; if so, schedules the next one.
  bool take_due(std::uint64_t now_ns) {
    if (now_ns < due_ns_) return false;
    due_ns_ = now_ns + timeout_ns_ / 4;
    return true;
  }

  // Call it once in each iteration of the loop. True: this process did not run for long, because it or its
  // machine was stopped; messages sent in that time may still be on their way.
  bool was_away(std::uint64_t now_ns) {
    const bool away = now_ns - looked_ns_ > timeout_ns_ * 3 / 4;
    looked_ns_ = now_ns;
    return away;
  }

 private:
  const std::uint64_t timeout_ns_;
  std::uint64_t due_ns_, looked_ns_;
};

}  // namespace musubi::launch
