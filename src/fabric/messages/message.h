// The messages between ranks without a connection. A line leads from an asking rank to an answering one. A
// handshake opens it: hello, answer, proof, welcome. Each later message carries the tag of its line and side,
// which is known only to a reader of the line's messages, so messages of strangers are dropped.
//
// Bytes of a lane are numbered messages. Each message also acknowledges the messages of the other lane that
// its sender has used up, so that the window can advance. A `room` message has only this acknowledgement; the
// welcome is one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/handshake/handshake.h"

namespace musubi::fabric {

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

}  // namespace musubi::fabric
