// Bytes that come from other ranks: how they get into the private bytes, and whether the program may see them
// there at once. While order is kept they stay closed until an acquire has ended that began after their
// arrival (order.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "coherence/core/version.h"
#include "coherence/migrating/copies/deferred_updates.h"
#include "coherence/migrating/copies/leases.h"
#include "coherence/migrating/copies/relays.h"
#include "coherence/migrating/copies/twins.h"
#include "coherence/protocol.h"

namespace musubi::coherence::migrating {

class Arrivals {
 public:
  Arrivals(Ground& ground, AcquiresInOrder& acquires, DeferredUpdates& deferred, Twins& twins, Leases& leases,
           Relays& relays)
      : ground_(ground),
        acquires_(acquires),
        deferred_(deferred),
        twins_(twins),
        leases_(leases),
        relays_(relays) {}

  // The version that `data` (null: the private bytes) holds is here now.
  void accept(HeldBlock& b, Version version, const std::byte* data, Giver giver);
  // The home of the block was `giver` until now. The newest bytes go into private bytes and twin; the changes
  // of this rank stay on top. Under the block's lock.
  void take_over(HeldBlock& b, const std::byte* remote, Giver giver);
  // The private bytes of the block are about to receive writes of another rank.
  void note_arrival(const HeldBlock& b);
  // An atomic operation finds the newest bytes; only its words are shown before it.
  void show_for(HeldBlock& b, const Modification& modification);

  // A thread of this rank opens the block, which is no longer at rest: the changes of operations from
  // elsewhere count as received now.
  void count_rest_as_arrival(HeldBlock& b);
  // Whether the block, closed, has bytes that an earlier fault brought and that may still be held. From here
  // on the block is watched.
  bool holds_what_came(HeldBlock& b);
  // Whether an acquire in order has covered the bytes received for the block.
  bool is_covered(const Entry& e) const { return acquires_.has_covered(e.came_in); }
  // Whether bytes came into open pages after the last acquire in order began. No gate.
  bool some_show_unordered() const;

 private:
  bool must_hold_back(const Entry& e) const;
  bool may_pass_on(const HeldBlock& b, Version version) const;
  bool hold_back(HeldBlock& b, const std::byte* remote, Rank giver);

  Ground& ground_;
  AcquiresInOrder& acquires_;
  DeferredUpdates& deferred_;
  Twins& twins_;
  Leases& leases_;
  Relays& relays_;
  std::atomic<std::uint32_t> came_open_in_{0};  // acquires in order begun when bytes came into open pages
};

}  // namespace musubi::coherence::migrating
