// Tells the ranks that a rank has left the job on the program's behalf while they were at work. From then on
// they get no answers from it, but must still write their buffered output.
#pragma once

#include <atomic>

#include "fabric/fabric.h"

namespace musubi::runtime {

class Departure final : private fabric::Listener {
 public:
  explicit Departure(fabric::Fabric& fabric);
  // The fabric refers to this object.
  Departure(const Departure&) = delete;

  // Tells all other ranks whose mailboxes have room: the launcher ends ranks that do not receive the message.
  // Signal-safe, any thread.
  void announce() noexcept;

  bool announced() const noexcept { return announced_.load(std::memory_order_acquire); }
  // For the service thread of a rank that was told: writes the C library's buffers and ends the process.
  [[noreturn]] static void follow() noexcept;

 private:
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  fabric::Fabric& fabric_;
  std::atomic<bool> announced_{false};
};

}  // namespace musubi::runtime
