// Connections that this rank makes, to ask peers: carries out what the race of each call says (race.h). A
// network in which one peer was reached is tried first for the others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/handshake/complaints.h"
#include "fabric/handshake/handshake.h"
#include "fabric/sockets/joiner.h"
#include "fabric/tcp/race.h"
#include "os/sockets.h"
#include "os/tcp.h"

namespace musubi::fabric::tcp {

using handshake::Answer;
using handshake::Complaints;
using handshake::Handshake;
using handshake::Hello;
using handshake::Nonce;
using handshake::Proof;
using handshake::Side;
using handshake::Welcome;

using Addresses = std::vector<os::SocketAddress>;

// Of a peer's addresses those that can lead to it, the nearest to `own` first: without those that this host
// has, too, unless it has all of them. Then the peer is here.
Addresses likely_addresses(const Addresses& of_peer, const Addresses& own);

// One thread at a time; signal-safe after the constructor.
class Calls {
 public:
  // `addresses` are by rank. Sockets are in the set as `first_data` and more: a number below numbers().
  Calls(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set,
        std::vector<Addresses> addresses, Race::Patience patience, std::uint64_t first_data);
  ~Calls();
  Calls(const Calls&) = delete;

  // Begins.
  void begin(Rank peer, Joined& joined) noexcept;
  // The socket of this data is ready.
  void go_on(std::uint64_t data, std::uint32_t events, Joined& joined) noexcept;
  // Does what time asks for.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

  // Where a call went that was given up, as in "at 10.0.0.3:4000, 10.1.0.3:4000 (no route leads there)":
  // reasons that are not that of Joined::unreachable(). Not in a signal handler.
  std::string tried(Rank peer) const;

 private:
  static constexpr std::size_t extra_connections = 64;
  static constexpr unsigned leaders = extra_connections / Race::lanes;

  // What a lane of a race has.
  struct Connection {
    int socket = -1;
    std::size_t held = 0;  // bytes of what is read now
    Hello hello;
    Answer answer;
    Welcome welcome;
  };
  struct Call {
    Race race;
    std::array<std::uint32_t, Race::lanes> connections{};  // by lane
    unsigned in_use = 0;                                   // of them
    bool leads = false;
  };

  Connection& connection(Rank peer, unsigned lane) noexcept {
    return connections_[calls_[peer.value].connections[lane]];
  }
  void carry_on(Rank peer, Joined& joined) noexcept;
  void start(Rank peer, unsigned lane) noexcept;
  void greet(Rank peer, unsigned lane) noexcept;
  void hear(Rank peer, unsigned lane, Joined& joined) noexcept;
  bool read(Rank peer, unsigned lane, void* to, std::size_t bytes, const char* at_end) noexcept;
  void take_answer(Rank peer, unsigned lane) noexcept;
  void take_welcome(Rank peer, unsigned lane, Joined& joined) noexcept;
  void found(Rank peer, std::size_t address) noexcept;
  std::size_t nearest(Rank peer) const noexcept;
  const char* main_reason(Rank peer) const noexcept;
  void fail(Rank peer, unsigned lane, const char* reason) noexcept;
  int hang_up(Rank peer, unsigned lane) noexcept;

  const Handshake& handshake_;
  Complaints& complaints_;
  const os::ReadySet& set_;
  const std::vector<Addresses> addresses_;
  const Race::Patience patience_;
  const std::uint64_t first_data_;
  std::vector<Call> calls_;
  std::size_t count_ = 0;
  // One per peer, which calls at once, and those of the calls that lead.
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> free_;  // of them
  std::size_t extras_ = 0;           // in use by calls that have another one
  // Where a peer was reached last; the index is that among its addresses.
  os::SocketAddress found_;
  std::size_t found_index_ = 0;
};

}  // namespace musubi::fabric::tcp
