// Transport over connected stream sockets, two per pair of ranks: on one the first of them asks and the other
// replies, on the other the reverse. What driver joins them, and how, is its own business.
//
// Sets of sockets (epoll): `arrivals_` says what poll() has to receive. The two sleepers have sets of their
// own, which tell of each arrival once, and of a request to a waiter if one sleeps, otherwise to the service
// thread. `openings_` says which lanes take bytes again; it is ready inside the sets of both sleepers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/active_messages/transport.h"
#include "os/sockets.h"

namespace musubi::fabric {

class SocketTransport final : public Transport {
 public:
  // Of one peer; without sockets at the own rank.
  struct Sockets {
    os::FileDescriptor asking;     // this rank sends requests, and receives the replies
    os::FileDescriptor answering;  // the reverse
  };

  // The sockets do not block.
  static Result<std::unique_ptr<SocketTransport>> create(Rank self, std::vector<Sockets> peers);

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return static_cast<std::uint32_t>(peers_.size()); }
  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override;
  Polled poll(Receiver& receiver) noexcept override;
  void sleep(Sleeper sleeper) noexcept override;
  void wake(Sleeper sleeper) noexcept override { bells_[index(sleeper)].ring(); }
  void close(Rank peer) noexcept override;

 private:
  // A socket: which one.
  struct Name {
    Rank peer;
    bool asking = false;
  };
  struct Peer {
    Sockets sockets;
    std::atomic<bool> asking_ended{false}, answering_ended{false};

    std::atomic<bool>& ended(Name name) noexcept { return name.asking ? asking_ended : answering_ended; }
  };

  SocketTransport(Rank self, std::vector<Sockets> peers);
  static std::size_t index(Sleeper sleeper) noexcept { return static_cast<std::size_t>(sleeper); }
  static std::uint64_t encode(Name name) noexcept {
    return std::uint64_t{name.peer.value} << 1 | name.asking;
  }
  static Name decode(std::uint64_t data) noexcept {
    return {Rank{static_cast<std::uint32_t>(data >> 1)}, (data & 1) != 0};
  }

  Result<void> make_sets();
  bool enter_sets(Rank rank) noexcept;
  int socket_of(Name name) const noexcept;
  bool has_ended(Name name) noexcept { return peers_[name.peer.value].ended(name).load(); }
  void end(Name name) noexcept;
  Polled poll_some(Receiver& receiver) noexcept;
  bool open_lanes(Receiver& receiver) noexcept;
  Polled receive_told(Receiver& receiver) noexcept;
  Polled receive(Receiver& receiver, Name name) noexcept;

  const Rank self_;
  std::vector<Peer> peers_;
  os::ReadySet arrivals_, openings_;
  os::ReadySet sleeping_[2];                      // by Sleeper
  os::Bell bells_[2];                             // by Sleeper
  std::vector<std::atomic<std::uint64_t>> told_;  // a bit per socket, by encode()
  bool unfinished_ = false;                       // the last poll() left something; by the thread that polls
  std::atomic<std::uint32_t> full_lanes_{0};
};

}  // namespace musubi::fabric
