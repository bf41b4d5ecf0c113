// Connects the ranks of a SocketTransport: makes a connection when this rank first asks a peer, and accepts
// those on which peers ask. The asking rank connects, so two ranks that start at once make exactly the two
// connections that a pair of ranks may have.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "fabric/sockets/peer_life.h"

namespace musubi::fabric {

// Receives the joiner's connections. Called inside work().
class Joined {
 public:
  // Takes over `socket`, a non-blocking connection to the peer. `asking`: this rank sends requests on it, and
  // was welcomed; otherwise the peer does, and has proved its identity. `attempt`: the asking rank's number.
  // Result: on `stale` and `second` the socket is closed; otherwise the peer is welcome.
  virtual PeerLife::Verdict joined(Rank peer, bool asking, int socket, std::uint32_t attempt) noexcept = 0;
  // The peer was called and is unreachable, for this static reason.
  virtual void unreachable(Rank peer, const char* reason) noexcept = 0;

 protected:
  ~Joined() = default;
};

class Joiner {
 public:
  virtual ~Joiner() = default;

  // Requests a connection to ask this peer. Once per peer. Any thread, signal-safe.
  virtual void call(Rank peer) noexcept = 0;
  // A descriptor that is readable while work() has something to do.
  virtual int number() const noexcept = 0;
  // The addresses at which an unreachable peer was called, as in "at 10.0.0.3:4000". Not in a signal handler.
  virtual std::string tried(Rank peer) const = 0;
  // Makes progress. Never blocks. One thread at a time, signal-safe.
  virtual void work(Joined& joined) noexcept = 0;
};

}  // namespace musubi::fabric
