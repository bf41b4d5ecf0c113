// A transport for the active-message engine in a simulated world: lanes are queues of bytes in this process.
// It is as bad as the port allows. send() accepts any part of its bytes, and the peer may have answered that
// part before send() returns; bytes are received in any parts; and wherever the port lets a thread lose its
// processor, another thread goes on. The engine's promises to the transport are checked.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "base/check.h"
#include "fabric/active_messages/transport.h"
#include "hooks/interruption.h"
#include "simulator/fabric/world.h"

namespace musubi::fabric {

struct NetworkBehaviour {
  std::size_t room = 0;            // capacity of a lane in bytes
  std::size_t part_max = 0;        // bytes that are moved before other threads may act
  unsigned short_sends = 0;        // percentage of sends that accept a part only
  unsigned stopped_per_mille = 0;  // at places where a thread may lose its processor
};

// Stops the running thread, or does not.
class Stops final : public Interruption {
 public:
  Stops(sim::World& world, unsigned per_mille) : world_(world), per_mille_(per_mille) {}
  void pass() noexcept override {
    Random& random = world_.random();
    if (random.below(1000) < per_mille_) world_.interrupt(1 + random.below(random.chance(20) ? 300 : 6));
  }
  void touch() noexcept override { pass(); }
  std::size_t stretch(std::size_t bytes) noexcept override { return bytes; }

 private:
  sim::World& world_;
  const unsigned per_mille_;
};

struct ScheduledLane {
  std::deque<std::byte> bytes;
  std::vector<std::byte> refused;  // was offered and not accepted, so it must be offered again
  bool is_full = false;            // the sender waits to be told that the lane accepts bytes again
  bool is_sending = false;         // a thread is in send()
};

class ScheduledNetwork {
 public:
  ScheduledNetwork(sim::World& in, std::uint32_t rank_count, const NetworkBehaviour& drawn)
      : world(in),
        stops(in, drawn.stopped_per_mille),
        behaviour(drawn),
        ranks(rank_count),
        lanes_(std::size_t{rank_count} * rank_count * lane_count) {}

  ScheduledLane& lane(Rank from, Rank to, Lane lane) {
    return lanes_[(from.value * ranks + to.value) * lane_count + static_cast<std::size_t>(lane)];
  }

  sim::World& world;
  Stops stops;
  const NetworkBehaviour behaviour;
  const std::uint32_t ranks;
  std::uint64_t short_sends = 0;  // accepted a part of the offered bytes

 private:
  std::vector<ScheduledLane> lanes_;
};

class ScheduledTransport final : public Transport {
 public:
  ScheduledTransport(ScheduledNetwork& network, Rank self)
      : network_(network), self_(self), closed_(network.ranks) {}

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return network_.ranks; }
  std::string way_to(Rank) const override { return "by a queue"; }

  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override {
    ScheduledLane& to = network_.lane(self_, peer, lane);
    MUSUBI_CHECK(!to.is_sending && pieces.size() <= pieces_max, "two threads send on one lane");
    to.is_sending = true;
    std::vector<std::byte> offered;
    for (const Piece& piece : pieces) offered.insert(offered.end(), piece.begin(), piece.end());
    MUSUBI_CHECK(offered.size() >= to.refused.size() &&
                     std::equal(to.refused.begin(), to.refused.end(), offered.begin()),
                 "what the lane did not take is offered changed");
    to.refused.clear();
    const std::size_t taken = take(to, offered);
    if (taken < offered.size()) {
      ++network_.short_sends;
      to.refused.assign(offered.begin() + static_cast<std::ptrdiff_t>(taken), offered.end());
      to.is_full = true;  // from now on another thread of this rank may find it open
    }
    network_.stops.pass();
    to.is_sending = false;
    return taken;
  }

  Polled poll(Receiver& receiver) noexcept override {
    MUSUBI_CHECK(!is_polled_, "two threads receive");
    is_polled_ = true;
    Polled polled = Polled::nothing;
    for (std::uint32_t i = 1; i < ranks(); ++i) {
      const Rank peer{(self_.value + i) % ranks()};
      for (const Lane lane : {Lane::requests, Lane::replies}) {
        if (tells_of_opening(receiver, peer, lane)) polled = Polled::something;
        if (receive(receiver, peer, lane)) polled = Polled::something;
      }
    }
    is_polled_ = false;
    return polled;
  }

  void sleep(Sleeper) noexcept override {}
  void wake(Sleeper) noexcept override { network_.stops.pass(); }
  void set_attended(bool attended) noexcept override {
    network_.stops.pass();
    is_attended_ = attended;
  }
  bool is_attended() const { return is_attended_; }
  void close(Rank peer) noexcept override { closed_[peer.value] = true; }

 private:
  std::size_t take(ScheduledLane& to, std::span<const std::byte> offered) {
    Random& random = network_.world.random();
    const NetworkBehaviour& behaviour = network_.behaviour;
    const bool is_short = random.chance(behaviour.short_sends);
    const std::size_t most = is_short ? random.below(offered.size() + 1) : offered.size();
    std::size_t taken = 0;
    for (;;) {
      network_.stops.pass();
      const std::size_t part =
          std::min({most - taken, behaviour.room - std::min(behaviour.room, to.bytes.size()),
                    static_cast<std::size_t>(random.between(1, behaviour.part_max))});
      if (part == 0) return taken;
      const auto from = offered.begin() + static_cast<std::ptrdiff_t>(taken);
      to.bytes.insert(to.bytes.end(), from, from + static_cast<std::ptrdiff_t>(part));
      taken += part;
    }
  }

  bool tells_of_opening(Receiver& receiver, Rank peer, Lane lane) {
    ScheduledLane& to = network_.lane(self_, peer, lane);
    if (!to.is_full || to.bytes.size() >= network_.behaviour.room) return false;
    to.is_full = false;
    receiver.writable(peer, lane);
    return true;
  }

  bool receive(Receiver& receiver, Rank from, Lane lane) {
    ScheduledLane& queue = network_.lane(from, self_, lane);
    if (queue.bytes.empty() || closed_[from.value]) return false;
    std::array<Place, places_max> places;
    const std::size_t wanted = receiver.places(from, lane, places);
    network_.stops.pass();  // more may arrive now, also answers that were not requested before
    std::size_t left = std::min(queue.bytes.size(), static_cast<std::size_t>(network_.world.random().between(
                                                        1, 2 * network_.behaviour.part_max)));
    std::size_t received = 0;
    for (std::size_t i = 0; i < wanted; ++i) {
      const auto bytes = static_cast<std::ptrdiff_t>(std::min(left - received, places[i].size()));
      std::copy_n(queue.bytes.begin(), bytes, places[i].begin());
      queue.bytes.erase(queue.bytes.begin(), queue.bytes.begin() + bytes);
      received += static_cast<std::size_t>(bytes);
    }
    if (received == 0) return false;
    network_.stops.pass();
    receiver.received(from, lane, received);
    return true;
  }

  ScheduledNetwork& network_;
  const Rank self_;
  std::vector<bool> closed_;
  bool is_polled_ = false, is_attended_ = false;
};

}  // namespace musubi::fabric
