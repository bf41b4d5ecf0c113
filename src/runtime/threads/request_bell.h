// Wakes a rank that another one asks for a release: requests are counted in a word of its control region
// (sync/flag_order.h), and its keeper sleeps on that word.
#pragma once

#include <atomic>
#include <cstdint>

#include "fabric/fabric.h"
#include "sync/flag_order.h"

namespace musubi::runtime {

class RequestBell final : public sync::Bell, private fabric::Listener {
 public:
  // `control`: this rank's control region; the word lies at `offset` in that of each rank.
  RequestBell(fabric::Fabric& fabric, std::byte* control, std::uint64_t offset);
  // The listener belongs to the fabric from now on.
  RequestBell(const RequestBell&) = delete;

  // Wakes the keeper of `peer`: by its word where that is within reach, else by a message. Result: false
  // when that found the mailbox full; a keeper looks by itself, now and then.
  bool ring(Rank peer) noexcept override;

  // How often this rank has been asked, modulo 2^32.
  std::uint32_t requests() const noexcept { return own_->load(); }
  // Sleeps until ring(), or while requests() is `seen` for `timeout_ns` at most; may return early.
  void wait(std::uint32_t seen, std::uint64_t timeout_ns) const;

 private:
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

  fabric::Fabric& fabric_;
  const std::atomic<std::uint32_t>* own_;
  const std::uint64_t offset_;
};

}  // namespace musubi::runtime
