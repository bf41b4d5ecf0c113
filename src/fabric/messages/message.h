// The messages between ranks that have no connection. A line leads from a rank that asks to one that answers,
// and is opened by a handshake: hello, answer, proof, welcome. Each later message carries the tag of its line
// and side, which nobody knows who has not seen the line's messages: so one from a stranger counts for
// nothing.
//
// Bytes of a lane are numbered messages. A message also says how many of the other lane its sender has used
// up: so many more may come. That alone is a `room` message, which is the welcome, too.
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
  bool asks = false;  // its sender asks on this line
  std::uint16_t unused = 0;
  std::uint32_t sequence = 0;  // of bytes: 0, 1, ...
  std::uint32_t used = 0;      // messages of the other lane
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
// With the hello: the side that answers has kept nothing.
struct ProofMessage {
  MessageHead head;
  handshake::Hello hello;
  handshake::Proof proof;
};

}  // namespace musubi::fabric
