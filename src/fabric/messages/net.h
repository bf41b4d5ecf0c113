// PORT message network: carries whole messages between ranks, each of which may send to any other without
// a connection. MessageTransport makes lanes of it. While both ranks live no message is lost or duplicated;
// messages may be reordered.
//
// Messages are in parcels, which belong to the network. It hands them out in groups: half to send from, half
// to receive into. MessageTransport never has more messages under way to a rank than that rank has parcels,
// except for handshakes, which strangers can cause; these may be delayed.
//
// send(), poll(), sleep() and wake() may be called in a signal handler, as transport.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "fabric/active_messages/transport.h"

namespace musubi::fabric {

struct Parcel {
  std::byte* bytes = nullptr;
  std::uint32_t number = 0;  // unique within the network
  std::uint32_t group = 0;   // the group whose `place`-th parcel it is
  std::uint32_t place = 0;
};

// Receives the events of poll(). Called inside poll(), by its thread.
class ParcelReceiver {
 public:
  // A message of `bytes` bytes has arrived. The receiver owns the parcel until give_back().
  virtual void arrived(Parcel& parcel, std::size_t bytes) noexcept = 0;
  // A message of a stranger arrived that fits no parcel.
  virtual void refused(const char* reason) noexcept = 0;
  // The message has left; the parcel is free.
  virtual void sent(Parcel& parcel) noexcept = 0;
  // The peer is gone or unreachable. Reported before any message that arrives later.
  virtual void failed(Rank peer) noexcept = 0;
  virtual void has_moved(void* token) noexcept = 0;  // as Receiver's

 protected:
  ~ParcelReceiver() = default;
};

class MessageNet {
 public:
  virtual ~MessageNet() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;
  // The capacity of a parcel.
  virtual std::size_t parcel_bytes() const noexcept = 0;
  // The name of the network, for messages to users.
  virtual std::string_view name() const noexcept = 0;

  // Opens a group, once: the caller owns the parcels to send from, and messages arrive in the parcels to
  // receive into. Result: the first of the group's contiguous parcels; null: the network takes no more
  // memory. Any thread.
  virtual Parcel* open_group(std::uint32_t group) noexcept = 0;

  enum class Sent : std::uint8_t { at_once, later };
  // Sends the first `bytes` bytes of the parcel. Never blocks. `later`: the network owns the parcel until
  // sent(). `probing`: failed() follows if the peer is gone; otherwise it may not. Any thread.
  enum class Purpose : std::uint8_t { plain, probing };
  virtual Sent send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose purpose) noexcept = 0;
  // Returns a parcel that arrived. Inside poll(), or between two calls of it.
  virtual void give_back(Parcel& parcel) noexcept = 0;

  // As in Transport.
  virtual bool begin_move(Rank, const Step&, void* /*token*/) noexcept { return false; }
  virtual std::size_t move_bytes_min() const noexcept { return SIZE_MAX; }

  // As in Transport; sleep() ends after `timeout_ms` at the latest, -1: no timeout.
  virtual Polled poll(ParcelReceiver& receiver) noexcept = 0;
  virtual void sleep(Sleeper sleeper, int timeout_ms) noexcept = 0;
  virtual void wake(Sleeper sleeper) noexcept = 0;
  virtual int rope(Sleeper sleeper) const noexcept = 0;
};

// Parcels of each group and direction: a window of messages of the lane, and a few for other messages
// (peer_session.h).
inline constexpr std::uint32_t lane_window = 8;
inline constexpr std::uint32_t parcels_of_way = lane_window + 4;
inline constexpr std::uint32_t parcels_of_group = 2 * parcels_of_way;

// Group 0 belongs to no line; the other groups are the two lines of each rank.
constexpr std::uint32_t groups_of(std::uint32_t ranks) noexcept {
  return 1 + 2 * ranks;
}

}  // namespace musubi::fabric
