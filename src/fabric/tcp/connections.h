// Accepted connections that have not proved yet that they belong to this job. Their number is bounded: a new
// guest replaces the least promising guest, after its input was read. A guest that has sent nothing is the
// least promising, then one that has sent a part of a hello, then one with a valid hello. Among equals it is
// a guest of the most frequent address, and among these the oldest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/handshake/complaints.h"
#include "fabric/handshake/handshake.h"
#include "fabric/sockets/joiner.h"
#include "fabric/tcp/connect_race.h"
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

// One thread at a time; signal-safe after the constructor.
class PendingConnections {
 public:
  PendingConnections(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set,
                     std::size_t places, std::uint64_t patience_ns);
  ~PendingConnections();
  PendingConnections(const PendingConnections&) = delete;

  // Takes over a connection and reads its input; adds it to the set as `first_data` plus its place.
  void enter(int socket, const os::SocketAddress& from, std::uint64_t first_data, Joined& joined) noexcept;
  // Reads input of the guest at this place, if any.
  void hear(std::size_t place, Joined& joined) noexcept;
  // Refuses guests that exceed the time for the hello, or for the proof after the answer.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

 private:
  enum class Said : std::uint8_t { nothing, a_part, hello };
  struct Guest {
    int socket = -1;
    std::uint64_t leaves_ns = 0;
    os::SocketAddress from;
    std::size_t held = 0;  // bytes of the object being read
    Said said = Said::nothing;
    Hello hello;
    Nonce nonce{};
    Proof proof{};
  };

  std::size_t make_place(Joined& joined) noexcept;
  std::size_t least_promising() const noexcept;
  void take(Guest& guest, Joined& joined) noexcept;
  bool read(Guest& guest, void* to, std::size_t bytes) noexcept;
  bool answer(Guest& guest) noexcept;
  void refuse(Guest& guest, const char* reason) noexcept;
  int leave(Guest& guest) noexcept;

  const Handshake& handshake_;
  Complaints& complaints_;
  const os::ReadySet& set_;
  const std::uint64_t patience_ns_;
  std::vector<Guest> guests_;
  std::size_t count_ = 0;
};

// Connections that this rank makes to ask peers: carries out the actions of each call's race
// (connect_race.h). Calls prefer the network in which another peer was reached.
using handshake::Answer;
using handshake::Complaints;
using handshake::Handshake;
using handshake::Hello;
using handshake::Nonce;
using handshake::Proof;
using handshake::Side;
using handshake::Welcome;

using Addresses = std::vector<os::SocketAddress>;

// The addresses that can lead to a peer, the nearest to `own` first. Addresses that this host has, too, are
// left out, unless it has all of them because the peer is on this host.
Addresses likely_addresses(const Addresses& of_peer, const Addresses& own);

// One thread at a time; signal-safe after the constructor.
class OutgoingConnections {
 public:
  // `addresses` are by rank. The set knows sockets by data from `first_data` on.
  OutgoingConnections(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set,
                      std::vector<Addresses> addresses, ConnectRace::Patience patience,
                      std::uint64_t first_data);
  ~OutgoingConnections();
  OutgoingConnections(const OutgoingConnections&) = delete;

  // Starts a call.
  void begin(Rank peer, Joined& joined) noexcept;
  // The socket of this data is ready.
  void go_on(std::uint64_t data, std::uint32_t events, Joined& joined) noexcept;
  // Handles timeouts.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

  // The addresses of a call that was given up, as in "at 10.0.0.3:4000, 10.1.0.3:4000 (no route leads
  // there)", with the reasons that differ from that of Joined::unreachable(). Not in a signal handler.
  std::string tried(Rank peer) const;

 private:
  static constexpr std::size_t extra_connections = 64;
  static constexpr unsigned leaders = extra_connections / ConnectRace::lanes;

  // The connection of a lane of a race.
  struct Connection {
    int socket = -1;
    std::size_t held = 0;  // bytes of the object being read
    Hello hello;
    Answer answer;
    Welcome welcome;
  };
  struct Call {
    ConnectRace race;
    std::array<std::uint32_t, ConnectRace::lanes> connections{};  // by lane
    unsigned in_use = 0;                                          // number of them
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
  const ConnectRace::Patience patience_;
  const std::uint64_t first_data_;
  std::vector<Call> calls_;
  std::size_t count_ = 0;
  // One per peer, so that all can be called at once, and extra ones for calls that lead.
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> free_;  // indices of free connections
  std::size_t extras_ = 0;           // in use by calls that have another one
  // The last address at which a peer was reached, and its index among that peer's addresses.
  os::SocketAddress found_;
  std::size_t found_index_ = 0;
};

}  // namespace musubi::fabric::tcp
