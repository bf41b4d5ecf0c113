// What joins the ranks of a SocketTransport: it makes a connection when this rank first asks a peer, and
// takes those on which peers ask. The rank that asks connects, so two ranks that begin at once make the two
// connections that a pair of ranks may have, and never one too many.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "fabric/sockets/peer_life.h"

namespace musubi::fabric {

// Gets what the joiner made. Called inside work().
class Joined {
 public:
  // `socket` leads to the peer, does not block, and belongs to the transport from now on. `asking`: this rank
  // sends requests on it, and was welcomed; otherwise the peer does, which has proved who it is. `attempt`:
  // of the rank that asks. Result: `stale` and `second`: the socket is closed; otherwise the peer is welcome.
  virtual PeerLife::Verdict joined(Rank peer, bool asking, int socket, std::uint32_t attempt) noexcept = 0;
  // The peer was called, and cannot be reached, for this reason, a text that stays.
  virtual void unreachable(Rank peer, const char* reason) noexcept = 0;

 protected:
  ~Joined() = default;
};

class Joiner {
 public:
  virtual ~Joiner() = default;

  // A connection to ask this peer is wanted. Once per peer. Any thread, signal-safe.
  virtual void call(Rank peer) noexcept = 0;
  // Is readable while work() would do something.
  virtual int number() const noexcept = 0;
  // Where the call of a peer went that was unreachable, as in "at 10.0.0.3:4000". Not in a signal handler.
  virtual std::string tried(Rank peer) const = 0;
  // Goes on with what has come. Never blocks. One thread at a time, signal-safe.
  virtual void work(Joined& joined) noexcept = 0;
};

}  // namespace musubi::fabric
