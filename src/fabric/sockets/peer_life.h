// The life of the two connections between this rank and a peer, as this rank sees it: made by whom, ended by
// whom, and what that means. On one of them this rank asks, on the other the peer does. No I/O, no clock.
//
// A rank that asks makes attempts, numbered upwards, one at a time after its proof. The rank that answers
// ends the handshake with a welcome. Until this has come, the end of a connection is a failed attempt, and
// another one follows. The rank that answers cannot know whether its welcome came, until a request does: so
// long the end of the connection is a failed attempt for it, too, and a later attempt takes the place of this
// one.
//
// After that the end of one connection is the end of the peer: requests or replies may be lost. What is there
// on the other one still counts, for `drain_ns`.
#pragma once

#include <cstdint>

namespace musubi::fabric {

class PeerLife {
 public:
  struct Patience {
    std::uint64_t drain_ns;   // with the other connection, when one has ended
    std::uint64_t repeat_ns;  // with a peer that was welcomed, asked nothing, and went
  };
  enum class Line : std::uint8_t {
    none,
    welcomed,  // by this rank, and nothing has come
    joined,
    awaited,  // was welcomed and has ended: another attempt follows
    ended,
  };

  Line asking() const noexcept { return asking_; }
  Line answering() const noexcept { return answering_; }
  bool is_lost() const noexcept { return is_lost_; }
  // Whether time matters: is_over() may become true.
  bool has_deadline() const noexcept { return deadline_ns_ != 0; }

  enum class Verdict : std::uint8_t {
    welcome,   // the caller takes the connection
    replaces,  // the same, and the connection that was welcomed before is closed
    stale,     // of an attempt that the peer has given up, or of a peer that is lost: closed without a word
    second,    // the peer has a connection, and uses it: no rank of the job does this
  };
  // The peer has welcomed this rank: `welcome`, or `stale`.
  Verdict welcomed() noexcept;
  // The peer has proved who it is, as its attempt of this number.
  Verdict proved(std::uint32_t attempt) noexcept;
  // A request came, or a part of one.
  void heard() noexcept;

  enum class End : std::uint8_t {
    attempt,  // nothing is lost: another attempt follows, and the socket serves no more
    line,     // what is there on the other connection still counts, until is_over()
    peer,     // the peer is lost
  };
  // A connection has ended. `for_good`: its host answers nothing, so the other one brings nothing either.
  End ended(bool asking, bool for_good, std::uint64_t now_ns, const Patience& patience) noexcept;
  // The peer is lost, whatever its connections are.
  void lose() noexcept;

  enum class Over : std::uint8_t {
    no,
    gone,  // after its welcome it did not come back
    cut,  // one connection has ended, while the other one stands: the peer lives, and something between ended
          // it
  };
  // Whether patience has ended; the peer is lost then.
  Over is_over(std::uint64_t now_ns) noexcept;

 private:
  static bool is_up(Line line) noexcept { return line == Line::joined || line == Line::welcomed; }

  Line asking_ = Line::none, answering_ = Line::none;
  bool is_lost_ = false;
  std::uint32_t attempt_ = 0;  // the last that was welcomed
  std::uint64_t deadline_ns_ = 0;
};

}  // namespace musubi::fabric
