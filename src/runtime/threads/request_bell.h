// Wakes a rank from which another rank requests a release: a word of its control region counts the requests
// (sync/flag_order.h), and its polling thread sleeps on that word.
#pragma once

#include <atomic>
#include <cstdint>

#include "fabric/fabric.h"
#include "sync/flag_order.h"

namespace musubi::runtime {

class RequestBell final : public sync::Bell, private fabric::Listener {
 public:
  // `control`: this rank's control region; the word is at `offset` in each rank's.
  RequestBell(fabric::Fabric& fabric, std::byte* control, std::uint64_t offset);
  // The fabric refers to this object.
  RequestBell(const RequestBell&) = delete;

  // Wakes the polling thread of `peer`: by its word if that is within reach, otherwise by a message. Result:
  // false if the mailbox was full; the thread also wakes up by itself from time to time.
  bool ring(Rank peer) noexcept override;

  // Number of requests to this rank, modulo 2^32.
  std::uint32_t requests() const noexcept { return own_->load(); }
  // Sleeps while requests() is `seen`, at most `timeout_ns`; may return early.
  void wait(std::uint32_t seen, std::uint64_t timeout_ns) const;

 private:
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  fabric::Fabric& fabric_;
  const std::atomic<std::uint32_t>* own_;
  const std::uint64_t offset_;
};

}  // namespace musubi::runtime
