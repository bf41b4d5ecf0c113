// Threads of a rank that poll for arrivals while they wait. Arrivals that they see need wake no other thread:
// the service thread would take a core only to find the work done.
#pragma once

#include <atomic>
#include <cstdint>

#include "fabric/active_messages/transport.h"

namespace musubi::fabric {

// Any thread, signal-safe.
class Attendance {
 public:
  explicit Attendance(Transport& transport) noexcept : transport_(transport) {}

  void begin_looks() noexcept {
    looking_.fetch_add(1);
    tell();
  }
  void end_looks() noexcept {
    looking_.fetch_sub(1);
    tell();
  }

 private:
  // One thread at a time tells the transport. A thread that finds another thread telling leaves the change to
  // it, which checks again afterwards.
  void tell() noexcept {
    bool looks;
    do {
      if (telling_.exchange(true)) return;
      looks = looking_.load() != 0;
      if (looks != told_.load(std::memory_order_relaxed)) {
        told_.store(looks, std::memory_order_relaxed);
        transport_.set_attended(looks);
      }
      telling_.store(false);
    } while ((looking_.load() != 0) != looks);
  }

  Transport& transport_;
  std::atomic<std::uint32_t> looking_{0};
  std::atomic<bool> telling_{false};
  std::atomic<bool> told_{false};
};

}  // namespace musubi::fabric
