// Tells the ranks that one of them has left the job on the program's behalf while they were at work. From
// then on nobody answers them, and their buffered output must still come out.
#pragma once

#include <atomic>

#include "fabric/fabric.h"

namespace musubi::runtime {

class Departure final : private fabric::Listener {
 public:
  explicit Departure(fabric::Fabric& fabric);
  // The listener belongs to the fabric from now on.
  Departure(const Departure&) = delete;

  // Tells all other ranks, as far as their mailboxes have room: the launcher ends ranks that do not hear of
  // it. Signal-safe, any thread.
  void announce() noexcept;

  bool announced() const noexcept { return announced_.load(std::memory_order_acquire); }
  // For the service thread of a rank that was told: writes the buffers of the C library and ends the process.
  [[noreturn]] static void follow() noexcept;

 private:
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  fabric::Fabric& fabric_;
  std::atomic<bool> announced_{false};
};

}  // namespace musubi::runtime
