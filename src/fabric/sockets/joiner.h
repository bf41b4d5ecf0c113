// What joins the ranks of a SocketTransport: it makes a connection when this rank first asks a peer, and
// takes those on which peers ask. The rank that asks connects, so two ranks that begin at once make the two
// connections that a pair of ranks may have, and never one too many.
#pragma once

#include "base/ids.h"
#include "os/tcp.h"

namespace musubi::fabric {

// Gets what the joiner made. Called inside work().
class Joined {
 public:
  // `socket` leads to the peer, does not block, and belongs to the transport from now on. `asking`: this rank
  // sends requests on it; otherwise the peer does. Result: false if there was one already; the socket is
  // closed.
  virtual bool joined(Rank peer, bool asking, int socket) noexcept = 0;
  // The peer was called, and cannot be reached: the last attempt was at this address, and failed for this
  // reason, a text that stays.
  virtual void unreachable(Rank peer, const os::SocketAddress& at, const char* reason) noexcept = 0;

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
  // Goes on with what has come. Never blocks. One thread at a time, signal-safe.
  virtual void work(Joined& joined) noexcept = 0;
};

}  // namespace musubi::fabric
