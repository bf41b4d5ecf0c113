// Release and acquire for stolen tasks, by the signatures of the protocol: a message carries the notices that
// its receiver does not have, as the grants of locks do (sync/lock_news.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "sync/flag_order.h"
#include "sync/signature_reader.h"
#include "task_stealing/ports.h"

namespace musubi::task_stealing {

class SignatureOrder final : public Order {
 public:
  // `control`: this rank's control region; signatures are at `place` in those of all ranks.
  SignatureOrder(fabric::Fabric& fabric, coherence::Protocol& protocol, sync::FlagOrder& flags,
                 std::span<std::byte> control, const sync::SignaturePlace& place);

  Task<> release() override;
  std::uint64_t acquired(Rank peer) const noexcept override { return signatures_.acquired_stamp(peer); }
  std::size_t news_since(std::uint64_t stamp, std::span<std::byte> room) noexcept override;
  Task<> acquire(Rank giver, std::span<const std::byte> news) override;

 private:
  coherence::Protocol& protocol_;
  sync::FlagOrder& flags_;
  const Rank self_;
  std::array<fabric::RegionView, fabric::region_count_max> regions_{};
  const sync::SignaturePlace place_;
  sync::SignatureReader signatures_;
};

}  // namespace musubi::task_stealing
