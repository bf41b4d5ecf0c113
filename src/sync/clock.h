// The clocks of the job, which releases raise and acquires read: words distributed over the ranks. A release
// and the acquires that must see it name the same channel: the number of the word or event by which other
// ranks learn that the release is over.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/task.h"
#include "coherence/protocol.h"
#include "coherence/regions.h"
#include "fabric/fabric.h"
#include "fabric/transfer.h"
#include "hooks/hooks.h"

namespace musubi::sync {

// Any number, such as the address of a word. Channels may share a clock; then an acquire covers more.
using Channel = std::uint64_t;

class Clock {
 public:
  static constexpr std::size_t word_count = 1024;  // of the job

  // Each rank holds a part of the words in its control region, at `offset`.
  Clock(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset, Hooks hooks = {})
      : fabric_(fabric), protocol_(protocol), offset_(offset), hooks_(hooks) {}
  static constexpr std::size_t bytes(std::uint32_t ranks) {
    return (word_count + ranks - 1) / ranks * sizeof(std::uint64_t);
  }

  // Raises the channel's clock to cover this rank's releases and acquires so far.
  Task<> raise(Channel channel) {
    const std::size_t number = number_of(channel);
    const std::uint64_t wanted = protocol_.clock().value;
    std::uint64_t expected = seen_[number].load(std::memory_order_relaxed);
    while (expected < wanted) {
      std::uint64_t seen = 0;
      std::array<fabric::Step, 1> step{
          fabric::compare_swap(coherence::control_region, offset_of(number), &seen, expected, wanted)};
      co_await fabric::transfer(fabric_, keeper_of(number), step);
      if (seen == expected) seen = wanted;
      expected = seen;
    }
    seen_[number].store(expected, std::memory_order_relaxed);
  }
  // Makes all releases that the channel's clock covers visible here.
  Task<> acquire(Channel channel) {
    const std::size_t number =
        number_of(hooks_.injected(InjectedBug::clock_of_another_channel) ? channel + 1 : channel);
    LogicalTime now{};
    std::array<fabric::Step, 1> step{
        fabric::get(coherence::control_region, offset_of(number), &now.value, sizeof now.value)};
    co_await fabric::transfer(fabric_, keeper_of(number), step);
    co_await protocol_.acquire_clock(now);
  }

 private:
  // Neighbouring channels, such as neighbouring words, have clocks at different ranks.
  static std::size_t number_of(Channel channel) noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
    static_assert(word_count == std::size_t{1} << (64 - 54));
    return channel * golden >> 54;
  }
  Rank keeper_of(std::size_t number) const noexcept {
    MUSUBI_CHECK(number < word_count);
    return Rank{static_cast<std::uint32_t>(number % fabric_.ranks())};
  }
  std::uint64_t offset_of(std::size_t number) const noexcept {
    MUSUBI_CHECK(number < word_count);
    return offset_ + number / fabric_.ranks() * sizeof(std::uint64_t);
  }

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  const std::uint64_t offset_;
  [[no_unique_address]] const Hooks hooks_;
  std::array<std::atomic<std::uint64_t>, word_count> seen_{};  // lower bound of each word
};

}  // namespace musubi::sync
