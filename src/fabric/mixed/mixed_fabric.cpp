#include "fabric/mixed/mixed_fabric.h"

#include "base/check.h"

namespace musubi::fabric {
namespace {

constexpr std::uint32_t near_only_max = 8;

}  // namespace

MixedFabric::MixedFabric(Fabric& near, Fabric& far) : near_(near), far_(far), is_near_(near.ranks()) {
  MUSUBI_CHECK(near.self() == far.self() && near.ranks() == far.ranks());
  for (std::uint32_t rank = 0; rank < near.ranks(); ++rank) {
    is_near_[rank] = near.capabilities(Rank{rank}).local_pointer;
  }
  MUSUBI_CHECK(is_near_[near.self().value], "a rank is near itself");
}

Fabric& MixedFabric::of(Rank peer) const noexcept {
  MUSUBI_CHECK(peer.value < is_near_.size(), "no rank %u", peer.value);
  return is_near_[peer.value] ? near_ : far_;
}

void MixedFabric::listen(MessageKind kind, Listener* listener) noexcept {
  MUSUBI_CHECK(kind < MessageKind::count);
  InTurn& in_turn = listeners_[static_cast<std::size_t>(kind)];
  in_turn.lock = &lock_;
  in_turn.listener = listener;
  Listener* const chosen = listener == nullptr ? nullptr : &in_turn;
  near_.listen(kind, chosen);
  far_.listen(kind, chosen);
}

void MixedFabric::offer(ProcedureId id, Procedure procedure) noexcept {
  near_.offer(id, procedure);
  far_.offer(id, procedure);
}

// The far driver makes system calls, the near one reads memory: while the near one delivers, it is mostly
// polled alone.
bool MixedFabric::progress() noexcept {
  const bool any = near_.progress();
  if (any && near_only_.fetch_add(1, std::memory_order_relaxed) < near_only_max) return true;
  near_only_.store(0, std::memory_order_relaxed);
  return far_.progress() || any;
}

}  // namespace musubi::fabric
