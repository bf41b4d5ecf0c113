// A transport for tests of the engine: lanes are queues of bytes in this process, of limited capacity, and
// bytes are received in parts of any size, from a seed. One thread drives all ranks, and counts events.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "fabric/active_messages/transport.h"

namespace musubi::fabric::conformance {

class QueueTransport;

// A lane from one rank to another.
struct QueuedLane {
  std::deque<std::byte> bytes;
  std::size_t room = 0;         // its capacity in bytes
  bool full = false;            // the sender waits to be told that it accepts bytes again
  std::uint64_t sends = 0;      // calls of send() that brought bytes
  std::uint64_t all_bytes = 0;  // total of delivered bytes
};

class QueueNetwork {
 public:
  // `part_max`: the most bytes that poll() receives at a time; 0: all.
  QueueNetwork(std::uint32_t ranks, std::size_t room, std::size_t part_max, std::uint64_t seed);

  Transport& transport(Rank rank);
  QueuedLane& lane(Rank from, Rank to, Lane lane) {
    return lanes_[(from.value * ranks_ + to.value) * lane_count + static_cast<std::size_t>(lane)];
  }
  std::uint32_t ranks() const { return ranks_; }
  // Called inside send() of any rank, when the bytes are on their way: the actions of other threads and ranks
  // before the sender goes on. Not called for sends inside of it.
  void act_inside_sends(std::function<void()> act) { act_ = std::move(act); }
  void let_others_act() {
    if (act_ == nullptr || acting_) return;
    acting_ = true;
    act_();
    acting_ = false;
  }
  std::size_t part(std::size_t bytes) {
    return part_max_ == 0 ? bytes : std::min<std::size_t>(bytes, 1 + random_.below(part_max_));
  }

 private:
  const std::uint32_t ranks_;
  const std::size_t part_max_;
  Random random_;
  std::function<void()> act_;
  bool acting_ = false;
  std::vector<QueuedLane> lanes_;
  std::vector<std::unique_ptr<QueueTransport>> transports_;
};

class QueueTransport final : public Transport {
 public:
  QueueTransport(QueueNetwork& network, Rank self)
      : network_(network), self_(self), closed_(network.ranks()) {}

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return network_.ranks(); }

  std::string way_to(Rank) const override { return "by a queue"; }

  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override {
    QueuedLane& to = network_.lane(self_, peer, lane);
    std::size_t taken = 0;
    for (const Piece& piece : pieces) {
      const std::size_t bytes = std::min(piece.size(), to.room - to.bytes.size());
      to.bytes.insert(to.bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(bytes));
      taken += bytes;
      if (bytes < piece.size()) to.full = true;
    }
    to.sends += taken != 0 ? 1 : 0;
    to.all_bytes += taken;
    network_.let_others_act();
    return taken;
  }

  Polled poll(Receiver& receiver) noexcept override {
    Polled polled = Polled::nothing;
    for (std::uint32_t peer = 0; peer < ranks(); ++peer) {
      if (Rank{peer} == self_) continue;
      for (const Lane lane : {Lane::requests, Lane::replies}) {
        QueuedLane& to = network_.lane(self_, Rank{peer}, lane);
        if (to.full && to.bytes.size() < to.room) {
          to.full = false;
          receiver.writable(Rank{peer}, lane);
          polled = Polled::something;
        }
        if (receive(receiver, Rank{peer}, lane)) polled = Polled::something;
      }
    }
    return polled;
  }

  void sleep(Sleeper) noexcept override {}
  void wake(Sleeper) noexcept override {}
  void close(Rank peer) noexcept override { closed_[peer.value] = true; }

 private:
  bool receive(Receiver& receiver, Rank from, Lane lane) noexcept {
    QueuedLane& queue = network_.lane(from, self_, lane);
    if (closed_[from.value] || queue.bytes.empty()) return false;
    std::array<Place, places_max> places;
    const std::size_t wanted = receiver.places(from, lane, places);
    std::size_t left = network_.part(queue.bytes.size());
    std::size_t received = 0;
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::size_t bytes = std::min(left, places[i].size());
      std::copy_n(queue.bytes.begin(), bytes, places[i].begin());
      queue.bytes.erase(queue.bytes.begin(), queue.bytes.begin() + static_cast<std::ptrdiff_t>(bytes));
      left -= bytes;
      received += bytes;
    }
    if (received != 0) receiver.received(from, lane, received);
    return received != 0;
  }

  QueueNetwork& network_;
  const Rank self_;
  std::vector<bool> closed_;
};

inline QueueNetwork::QueueNetwork(std::uint32_t ranks, std::size_t room, std::size_t part_max,
                                  std::uint64_t seed)
    : ranks_(ranks), part_max_(part_max), random_(seed), lanes_(ranks * ranks * lane_count) {
  for (QueuedLane& lane : lanes_) lane.room = room;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    transports_.push_back(std::make_unique<QueueTransport>(*this, Rank{rank}));
  }
}

inline Transport& QueueNetwork::transport(Rank rank) {
  return *transports_[rank.value];
}

}  // namespace musubi::fabric::conformance
