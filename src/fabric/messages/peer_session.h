// A line: the state of this rank with a peer that it asks, or that asks it. It sends one lane and receives
// the other, each in a window of messages.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "fabric/handshake/handshake.h"
#include "fabric/messages/net.h"

namespace musubi::fabric {

// The messages between ranks without a connection. A line leads from an asking rank to an answering one. A
// handshake opens it: hello, answer, proof, welcome. Each later message carries the tag of its line and side,
// which is known only to a reader of the line's messages, so messages of strangers are dropped.
//
// Bytes of a lane are numbered messages. Each message also acknowledges the messages of the other lane that
// its sender has used up, so that the window can advance. A `room` message has only this acknowledgement; the
// welcome is one.
enum class MessageForm : std::uint8_t { hello = 1, answer, proof, room, bytes };

using Tag = std::array<std::byte, 16>;

struct MessageHead {
  std::uint32_t from = 0;
  MessageForm form{};
  bool asks = false;  // its sender is the asking side of this line
  std::uint16_t unused = 0;
  std::uint32_t sequence = 0;  // of bytes: 0, 1, ...
  std::uint32_t used = 0;      // messages of the other lane that are used up
  Tag tag{};                   // of room and bytes
};
static_assert(sizeof(MessageHead) == 32);

struct HelloMessage {
  MessageHead head;
  handshake::Hello hello;
};
struct AnswerMessage {
  MessageHead head;
  handshake::Answer answer;
};
// Repeats the hello, because the answering side has kept no state.
struct ProofMessage {
  MessageHead head;
  handshake::Hello hello;
  handshake::Proof proof;
};

enum class SessionState : std::uint8_t { none, called, joined, ended };

// The sending side. take() and has_left(): any thread. Other functions: the sender of the lane, or the
// polling thread, as stated.
class SendWindow {
 public:
  void open(Parcel* first) noexcept {
    first_ = first;
    free_.store(all);
  }
  // A free parcel; null if there is none.
  Parcel* take() noexcept {
    std::uint32_t free = free_.load();
    while (free != 0) {
      const std::uint32_t lowest = free & (~free + 1);
      if (free_.compare_exchange_weak(free, free & ~lowest)) return first_ + std::countr_zero(lowest);
    }
    return nullptr;
  }
  void has_left(const Parcel& parcel) noexcept { free_.fetch_or(std::uint32_t{1} << parcel.place); }
  bool all_have_left() const noexcept { return free_.load() == all; }

  // Sender: a parcel for the next message of the lane; null: full, and becomes_open() will report when it no
  // longer is.
  Parcel* take_for_lane() noexcept {
    if (Parcel* const parcel = try_take()) return parcel;
    starved_.store(true);
    Parcel* const parcel = try_take();  // a parcel freed before the store was reported to no one
    if (parcel != nullptr) starved_.store(false);
    return parcel;
  }
  std::uint32_t next_sequence() noexcept { return sent_++; }

  // Polling thread: the peer has used up `used` messages. False: impossible.
  bool peer_used(std::uint32_t used) noexcept {
    const std::uint32_t before = used_.load();
    const auto more = static_cast<std::int32_t>(used - before);
    if (more > static_cast<std::int32_t>(lane_window)) return false;
    if (more > 0) used_.store(used);  // messages may be reordered
    return true;
  }
  // Polling thread, after peer_used() or has_left(): whether the sender waits for a parcel.
  bool becomes_open() noexcept { return starved_.load() && starved_.exchange(false); }

 private:
  static constexpr std::uint32_t all = (std::uint32_t{1} << parcels_of_way) - 1;

  Parcel* try_take() noexcept { return sent_ - used_.load() < lane_window ? take() : nullptr; }

  Parcel* first_ = nullptr;
  std::atomic<std::uint32_t> free_{0};  // a bit per parcel
  std::uint32_t sent_ = 0;
  std::atomic<std::uint32_t> used_{0};
  std::atomic<bool> starved_{false};
};

// The receiving side, which restores the order. Polling thread only; used(): any thread.
class ReceiveWindow {
 public:
  // False: no such message is allowed.
  bool insert(std::uint32_t sequence, Parcel& parcel, std::size_t bytes) noexcept {
    if (sequence - next_ >= lane_window || held_[sequence % lane_window].parcel != nullptr) return false;
    held_[sequence % lane_window] = {&parcel, sizeof(MessageHead), bytes};
    return true;
  }
  // The next bytes; empty if they have not arrived.
  std::span<const std::byte> bytes() const noexcept {
    const Held& held = held_[next_ % lane_window];
    if (held.parcel == nullptr) return {};
    return {held.parcel->bytes + held.begin, held.end - held.begin};
  }
  // Consumes `bytes` bytes. Result: the parcel, if it is used up.
  Parcel* taken(std::size_t bytes) noexcept {
    Held& held = held_[next_ % lane_window];
    held.begin += bytes;
    if (held.begin != held.end) return nullptr;
    Parcel* const parcel = held.parcel;
    held.parcel = nullptr;
    ++next_;
    used_.store(next_);
    return parcel;
  }
  // Removes any held parcel, in any order; null if none is left.
  Parcel* drop() noexcept {
    for (Held& held : held_) {
      if (held.parcel != nullptr) return std::exchange(held.parcel, nullptr);
    }
    return nullptr;
  }
  // The number of messages that are used up.
  std::uint32_t used() const noexcept { return used_.load(); }

 private:
  struct Held {
    Parcel* parcel = nullptr;
    std::size_t begin = 0, end = 0;
  };

  std::array<Held, lane_window> held_;
  std::uint32_t next_ = 0;
  std::atomic<std::uint32_t> used_{0};
};

struct PeerSession {
  std::atomic<SessionState> state{SessionState::none};
  SendWindow leaving;
  ReceiveWindow coming;
  Tag own_tag{}, peer_tag{};
  std::atomic<std::uint32_t> told{0};           // coming.used() as last told to the peer
  std::atomic<bool> has_said_something{false};  // since the last tick of the clock
  handshake::Hello hello;                       // that opened the line
  bool is_heard = false;        // a message with the tag has arrived, so the peer has this rank's tag
  std::uint64_t failed_ns = 0;  // unless 0: the time of the first message to the peer that failed
  std::atomic<std::uint64_t> called_ns{0};  // unless 0: when this rank called, and `hello` is valid
};

}  // namespace musubi::fabric
