// PORT message network: what carries whole messages between ranks, each of which may send to any other
// without a connection. MessageTransport makes lanes of it. No message is lost or doubled while both ranks
// live; their order is not kept.
//
// Messages lie in parcels, which belong to the network. It gives them out in groups: so many to send from,
// and as many to receive into. There are never more messages under way to a rank than it has parcels for:
// MessageTransport sees to that, but for handshakes, which strangers can cause; these may be held back.
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
  std::uint32_t number = 0;  // the network's
  std::uint32_t group = 0;   // it belongs to this group, and is the `place`-th to send from
  std::uint32_t place = 0;
};

// What poll() tells of. Called inside poll(), by its thread.
class ParcelReceiver {
 public:
  // A message of so many bytes. The parcel is the receiver's until give_back().
  virtual void arrived(Parcel& parcel, std::size_t bytes) noexcept = 0;
  // A message came that no parcel holds: of a stranger.
  virtual void refused(const char* reason) noexcept = 0;
  // The message has left; the parcel is free.
  virtual void sent(Parcel& parcel) noexcept = 0;
  // The peer is gone, or cannot be reached. Told before any message that arrives later.
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
  // What a parcel holds.
  virtual std::size_t parcel_bytes() const noexcept = 0;
  // The network, for messages to users.
  virtual std::string_view name() const noexcept = 0;

  // Opens a group, once: those to send from are the caller's, into the others messages come from now on.
  // Result: the first of them, the others stand behind it; null: the network takes no more memory. Any
  // thread.
  virtual Parcel* open_group(std::uint32_t group) noexcept = 0;

  enum class Sent : std::uint8_t { at_once, later };
  // Sends the first `bytes` bytes of the parcel. Never blocks. `later`: the parcel is the network's until
  // sent(). `probing`: failed() follows if the peer is gone; else it may not. Any thread.
  enum class Purpose : std::uint8_t { plain, probing };
  virtual Sent send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose purpose) noexcept = 0;
  // A parcel that arrived is used up. Inside poll(), or between two.
  virtual void give_back(Parcel& parcel) noexcept = 0;

  // As Transport's.
  virtual bool begin_move(Rank, const Step&, void* /*token*/) noexcept { return false; }
  virtual std::size_t move_bytes_min() const noexcept { return SIZE_MAX; }

  // As Transport's; sleep() ends after `timeout_ms` at the latest, -1: never.
  virtual Polled poll(ParcelReceiver& receiver) noexcept = 0;
  virtual void sleep(Sleeper sleeper, int timeout_ms) noexcept = 0;
  virtual void wake(Sleeper sleeper) noexcept = 0;
  virtual int rope(Sleeper sleeper) const noexcept = 0;
};

// Of each group, to send from and to receive into: a window of messages of the lane, and some for what else
// ranks say (message.h).
inline constexpr std::uint32_t lane_window = 8;
inline constexpr std::uint32_t parcels_of_way = lane_window + 4;
inline constexpr std::uint32_t parcels_of_group = 2 * parcels_of_way;

// Group 0 is nobody's; then there are two lines per rank.
constexpr std::uint32_t groups_of(std::uint32_t ranks) noexcept {
  return 1 + 2 * ranks;
}

}  // namespace musubi::fabric
