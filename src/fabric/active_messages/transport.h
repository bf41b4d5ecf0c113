// PORT transport: what carries the bytes of active messages. A driver sends, polls, sleeps, is woken, and
// notices a death; everything else is the engine's (engine.h).
//
// Two lanes lead from each rank to each peer, one for requests and one for replies. A lane is a stream of
// bytes: what is sent arrives whole, once and in order. Between lanes there is no order, and one that stands
// still holds up no other. That keeps floods alive: replies are always received, so requests are always
// carried out in the end, however many there are in both directions.
//
// A driver whose network has messages instead of streams sends pieces of a lane as messages. One that reads
// what it sends only later answers 0 to send() until it has: the engine offers the same bytes again.
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
    silent,       // nothing came from it for too long, nor from its host
    unreachable,  // it was called, and has not answered
    refused,      // this rank wants no more of it: it does not keep the protocol
    damaged,      // what came from it is not what it has sent
  };
  Kind kind = Kind::ended;
  const char* reason = "it died or left";  // a text for the user, which stays
};

// What poll() tells the engine of. Called inside poll(), by its thread.
class Receiver {
 public:
  // Where the next bytes of a lane belong, in order: fills `places`. Result: how many of them count. 0: none
  // are wanted now, because replies to this peer cannot leave; later calls want them.
  virtual std::size_t places(Rank from, Lane lane, std::span<Place, places_max> places) noexcept = 0;
  // `bytes` bytes came into the places that were asked for last.
  virtual void received(Rank from, Lane lane, std::size_t bytes) noexcept = 0;
  // The lane, of which send() took less than it was offered, takes bytes again.
  virtual void writable(Rank peer, Lane lane) noexcept = 0;
  // The peer has died or has closed its end. Once per peer.
  virtual void lost(Rank peer, Loss loss) noexcept = 0;
  // What begin_move() has begun is complete.
  virtual void has_moved(void* token) noexcept = 0;

 protected:
  ~Receiver() = default;
};

// The two sleepers of a rank. `waiter`: a thread that waits for a reply or a message. `service`: the service
// thread; what a waiter sleeps for, it need not hear of.
enum class Sleeper : std::uint8_t { waiter, service };

enum class Polled : std::uint8_t {
  nothing,
  something,  // and nothing else had arrived
  more,       // and there is more
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;

  // Sends the pieces, one behind the other. Never blocks. Result: how many bytes were taken, counted from the
  // first; their memory is free again. Less than all: the lane is full, and Receiver::writable follows. The
  // bytes that were not taken are offered again, unchanged. Bytes to a peer that is lost or closed are taken
  // and dropped. On the lane of replies they do not change until they are taken. One thread at a time per
  // lane.
  virtual std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept = 0;

  // Carries a get or a put out by the network itself, so that no processor of the peer does it. It keeps what
  // fabric.h promises: aligned words stay whole, unless the user of the driver has given that up, and the end
  // of a put is told when all see it. Never blocks. Result: whether it was taken; then the step and its
  // buffer stay untouched until Receiver::has_moved, which does not follow if the peer gets lost. Any thread.
  virtual bool begin_move(Rank, const Step&, void* /*token*/) noexcept { return false; }
  // The fewest bytes for which begin_move() may be true.
  virtual std::size_t move_bytes_min() const noexcept { return SIZE_MAX; }

  // Receives what has arrived, for some time. Never blocks. One thread at a time.
  virtual Polled poll(Receiver& receiver) noexcept = 0;

  // Sleeps until poll() would do something new (the service thread: for a request, or for a lane that takes
  // bytes again), or wake() was called since the last sleep. Spurious returns are allowed. One thread at a
  // time per sleeper. What poll() left behind (`more`, bytes that were not wanted) ends no sleep.
  virtual void sleep(Sleeper sleeper) noexcept = 0;
  // Ends the sleep of this sleeper, or else its next one. Any thread.
  virtual void wake(Sleeper sleeper) noexcept = 0;
  // While true, some thread looks by poll() again and again: requests end no sleep of the service thread.
  // What has not been received when it becomes false ends one. One thread at a time. A hint.
  virtual void set_attended(bool) noexcept {}
  // What another process of this host can open (os::open_file_of_process) and write a byte to, for the same;
  // -1 without such a thing.
  virtual int rope(Sleeper) const noexcept { return -1; }

  // By what this rank reaches the peer, or has tried to, as in "at 10.0.0.3" or "by verbs". Not in a signal
  // handler; any thread once poll() has told that the peer is lost.
  virtual std::string way_to(Rank peer) const = 0;

  // Ends the lanes to and from a peer that does not keep the protocol; lost() does not follow. Inside poll().
  virtual void close(Rank peer) noexcept = 0;
};

}  // namespace musubi::fabric
