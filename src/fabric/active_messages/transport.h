// PORT transport: carries the bytes of active messages. A driver sends, polls, sleeps, is woken, and detects
// deaths; the engine does everything else (engine.h).
//
// Two lanes lead from each rank to each peer, one for requests and one for replies. A lane is a stream of
// bytes: they arrive whole, once and in order. Lanes are unordered relative to each other, and a blocked lane
// blocks no other one. That keeps floods alive: replies are always received, so requests are carried out in
// the end, however many there are in both directions.
//
// A driver over a network of messages sends pieces of a lane as messages. A driver that reads the bytes of
// send() later returns 0 until it has read them: the engine offers the same bytes again.
//
// send(), poll(), wake() and sleep() may be called in a signal handler, as fabric.h says: they allocate
// nothing from the program's heap, and hold no lock that the program's code could hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "fabric/fabric.h"

namespace musubi::fabric {

enum class Lane : std::uint8_t { requests, replies };
inline constexpr std::size_t lane_count = 2;

using Piece = std::span<const std::byte>;  // bytes to send
using Place = std::span<std::byte>;        // where bytes are received

inline constexpr std::size_t pieces_max = 64;  // that the engine offers at once
inline constexpr std::size_t places_max = 2;

// How a peer was lost.
struct Loss {
  enum class Kind : std::uint8_t {
    ended,        // its end of the connection was closed: it died or left
    silent,       // nothing arrived from it or its host for too long
    unreachable,  // it was called, and has not answered
    refused,      // this rank closed it: it violates the protocol
    damaged,      // bytes from it were corrupted
  };
  Kind kind = Kind::ended;
  const char* reason = "it died or left";  // for the user; static
};

// Receives the events of poll(). Called inside poll(), by its thread.
class Receiver {
 public:
  // Where the next bytes of a lane go, in order: fills `places`. Result: the number of places. 0: no bytes
  // are wanted now, because replies to this peer cannot leave; later calls will want them.
  virtual std::size_t places(Rank from, Lane lane, std::span<Place, places_max> places) noexcept = 0;
  // `bytes` bytes were written to the places returned last.
  virtual void received(Rank from, Lane lane, std::size_t bytes) noexcept = 0;
  // A lane of which send() took less than offered takes bytes again.
  virtual void writable(Rank peer, Lane lane) noexcept = 0;
  // The peer has died or has closed its end. Once per peer.
  virtual void lost(Rank peer, Loss loss) noexcept = 0;
  // The operation of begin_move() is complete.
  virtual void has_moved(void* token) noexcept = 0;

 protected:
  ~Receiver() = default;
};

// The two sleepers of a rank. `waiter`: a thread that waits for a reply or a message. `service`: the service
// thread, which need not be woken for arrivals that a waiter sleeps for.
enum class Sleeper : std::uint8_t { waiter, service };

enum class Polled : std::uint8_t {
  nothing,
  something,  // nothing else had arrived
  more,       // more has arrived
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;

  // Sends the pieces in order. Never blocks. Result: the number of bytes taken, from the first on; their
  // memory is free again. If less than all, the lane is full, and Receiver::writable follows; the remaining
  // bytes are offered again, unchanged, and bytes on a reply lane do not change until they are taken. Bytes
  // to a peer that is lost or closed are taken and dropped. One thread at a time per lane.
  virtual std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept = 0;

  // Starts a get or a put that the network itself carries out, without a processor of the peer. It keeps the
  // promises of fabric.h: aligned words stay whole, unless the user of the driver has waived this, and a put
  // completes when it is visible to all. Never blocks. Result: whether it was taken; the step and its buffer
  // then stay unchanged until Receiver::has_moved, which does not follow if the peer is lost. Any thread.
  virtual bool begin_move(Rank, const Step&, void* /*token*/) noexcept { return false; }
  // The smallest size for which begin_move() may return true.
  virtual std::size_t move_bytes_min() const noexcept { return SIZE_MAX; }

  // Receives arrivals, for a bounded time. Never blocks. One thread at a time.
  virtual Polled poll(Receiver& receiver) noexcept = 0;

  // Blocks until poll() has something new to do (for the service thread: a request, or a lane that takes
  // bytes again), or wake() was called since the last sleep. Spurious returns are allowed. One thread at a
  // time per sleeper. Arrivals that poll() has left (`more`, or bytes that were not wanted) end no sleep.
  virtual void sleep(Sleeper sleeper) noexcept = 0;
  // Ends the current or else the next sleep of this sleeper. Any thread.
  virtual void wake(Sleeper sleeper) noexcept = 0;
  // A hint: while true, some thread polls, so requests end no sleep of the service thread. Bytes not received
  // when it becomes false end one. One thread at a time.
  virtual void set_attended(bool) noexcept {}
  // A file for the same purpose: another process of this host opens it (os::open_file_of_process) and writes
  // a byte. -1 if there is none.
  virtual int rope(Sleeper) const noexcept { return -1; }

  // How this rank reaches the peer, or has tried to, as in "at 10.0.0.3" or "by verbs". Not in a signal
  // handler; any thread after poll() has reported that the peer is lost.
  virtual std::string way_to(Rank peer) const = 0;

  // Ends the lanes to and from a peer that violates the protocol; lost() does not follow. Inside poll().
  virtual void close(Rank peer) noexcept = 0;
};

}  // namespace musubi::fabric
