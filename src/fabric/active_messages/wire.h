// Wire format of the lanes. Both ends are the same program on the same kind of processor: numbers are in host
// byte order, and nothing is aligned.
//
// Request lane: frames, each a header and its body. Batch: its steps, each a description and its payload
// (put: data; call: arguments). Message: its body.
//
// Reply lane: for each batch, in order, the results of its steps, then a header. Result of a get: data;
// atomic: old value; put: empty; call: CallEnd and the result; skipped step: empty. So the initiator knows
// the place of each byte before it arrives, and the header announces that the whole batch has taken effect.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/active_messages/transport.h"
#include "fabric/fabric.h"

namespace musubi::fabric::wire {

static_assert(std::endian::native == std::endian::little, "wire formats are little-endian");

enum class FrameKind : std::uint8_t { batch = 1, message, reply };

inline constexpr std::uint16_t frame_mark = 0x756d;

struct FrameHeader {
  std::uint16_t mark = frame_mark;
  FrameKind kind{};
  MessageKind message{};       // of a message
  std::uint32_t count = 0;     // of a batch and its reply: steps; of a message: bytes
  std::uint64_t sequence = 0;  // of a request: 1, 2, ... on this lane; of a reply: its batch's
};
static_assert(sizeof(FrameHeader) == 16);

constexpr bool is_atomic(Verb verb) noexcept {
  return verb == Verb::compare_swap || verb == Verb::fetch_add || verb == Verb::swap;
}

// The description of a step: two words; for an atomic also the operand, for compare_swap also the comparand,
// for a call also the size of its arguments. The first word: length, region, verb, and the required verdict.
inline constexpr std::size_t word_bytes = 8;
inline constexpr std::size_t step_bytes_max = 4 * word_bytes;
inline constexpr unsigned length_bits = 40;

constexpr std::size_t step_bytes(Verb verb) noexcept {
  const std::size_t words = verb == Verb::compare_swap ? 4 : verb == Verb::get || verb == Verb::put ? 2 : 3;
  return words * word_bytes;
}

// The payload after the description, in the caller's memory.
inline Piece payload_of(const Step& step) noexcept {
  if (step.verb == Verb::put) return {static_cast<const std::byte*>(step.local), step.bytes};
  if (step.verb == Verb::call) return {static_cast<const std::byte*>(step.arguments), step.operand};
  return {};
}

// Result: the bytes written to `to`.
inline std::size_t encode(const Step& step, std::byte* to) noexcept {
  const std::uint64_t words[4]{step.bytes | std::uint64_t{step.region.value} << length_bits |
                                   static_cast<std::uint64_t>(step.verb) << (length_bits + 8) |
                                   std::uint64_t{step.after} << (length_bits + 16),
                               step.offset, step.operand, step.compare};
  const std::size_t bytes = step_bytes(step.verb);
  std::memcpy(to, words, bytes);
  return bytes;
}

// Decodes the first word of a description. The verb may be invalid.
inline Step decode_first_word(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  Step step{};
  step.bytes = word & ((std::uint64_t{1} << length_bits) - 1);
  step.region = RegionId{static_cast<std::uint8_t>(word >> length_bits)};
  step.verb = static_cast<Verb>(word >> (length_bits + 8));
  step.after = static_cast<Verdict>(word >> (length_bits + 16));
  return step;
}

// Decodes the other words. REQUIRES: they have arrived, and the verb is valid.
inline void decode_rest(const std::byte* from, Step& step) noexcept {
  std::uint64_t words[4]{};
  std::memcpy(words, from, step_bytes(step.verb));
  step.offset = words[1];
  step.operand = words[2];
  step.compare = words[3];
}

// The size of a step's result in the reply; for a call, its minimum.
constexpr std::size_t result_bytes(const Step& step) noexcept {
  return step.verb == Verb::put ? 0 : step.verb == Verb::call ? sizeof(CallEnd) : step.bytes;
}

}  // namespace musubi::fabric::wire
