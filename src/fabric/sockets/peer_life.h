// The life of the two connections between this rank and a peer, as this rank sees it: how each is made and
// ended, and what its end means. On one of them this rank asks, on the other the peer does. No I/O, no
// clock.
//
// A rank that asks makes numbered attempts, one at a time after its proof. The answering rank ends the
// handshake with a welcome. Until the welcome arrives, the end of a connection is a failed attempt, and
// another one follows. The answering rank cannot know whether its welcome has arrived before it receives a
// request; until then the end of the connection is a failed attempt for it, too, and a later attempt replaces
// this one.
//
// Afterwards the end of one connection is the end of the peer, because requests or replies may be lost. Bytes
// that have arrived on the other connection still count, for `drain_ns`.
#pragma once

#include <cstdint>

namespace musubi::fabric {

class PeerLife {
 public:
  struct Patience {
    std::uint64_t drain_ns;   // for the other connection, after one has ended
    std::uint64_t repeat_ns;  // for a peer that was welcomed, asked nothing, and left
  };
  enum class Line : std::uint8_t {
    none,
    welcomed,  // by this rank, and nothing has arrived
    joined,
    awaited,  // was welcomed and has ended: another attempt follows
    ended,
  };

  Line asking() const noexcept { return asking_; }
  Line answering() const noexcept { return answering_; }
  bool is_lost() const noexcept { return is_lost_; }
  // Whether is_over() may become true by time.
  bool has_deadline() const noexcept { return deadline_ns_ != 0; }

  enum class Verdict : std::uint8_t {
    welcome,   // the caller takes the connection
    replaces,  // the same, and the connection welcomed before is closed
    stale,     // an attempt that the peer has given up, or a lost peer: closed silently
    second,    // the peer already uses a connection: no rank of the job does this
  };
  // The peer has welcomed this rank. Result: `welcome` or `stale`.
  Verdict welcomed() noexcept;
  // The peer has proved its identity, in its attempt of this number.
  Verdict proved(std::uint32_t attempt) noexcept;
  // A request, or a part of one, has arrived.
  void heard() noexcept;

  enum class End : std::uint8_t {
    attempt,  // nothing is lost: another attempt follows; close the socket
    line,     // bytes of the other connection still count, until is_over()
    peer,     // the peer is lost
  };
  // A connection has ended. `for_good`: its host does not answer, so the other connection is useless, too.
  End ended(bool asking, bool for_good, std::uint64_t now_ns, const Patience& patience) noexcept;
  // The peer is lost, in any state of its connections.
  void lose() noexcept;

  enum class Over : std::uint8_t {
    no,
    gone,  // it did not come back after its welcome
    cut,   // one connection ended while the other is up, so the peer lives
  };
  // Whether a deadline has passed; the peer is lost then.
  Over is_over(std::uint64_t now_ns) noexcept;

 private:
  static bool is_up(Line line) noexcept { return line == Line::joined || line == Line::welcomed; }

  Line asking_ = Line::none, answering_ = Line::none;
  bool is_lost_ = false;
  std::uint32_t attempt_ = 0;  // the last one that was welcomed
  std::uint64_t deadline_ns_ = 0;
};

}  // namespace musubi::fabric
