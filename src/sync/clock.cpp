#include "sync/clock.h"

#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {

std::size_t Clock::number_of(Channel channel) noexcept {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;
  return channel * golden >> 54;
}
static_assert(Clock::word_count == std::size_t{1} << (64 - 54));

Task<> Clock::raise(Channel channel) {
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

Task<> Clock::acquire(Channel channel) {
  const std::size_t number =
      number_of(hooks_.injected(InjectedBug::clock_of_another_channel) ? channel + 1 : channel);
  LogicalTime now{};
  std::array<fabric::Step, 1> step{
      fabric::get(coherence::control_region, offset_of(number), &now.value, sizeof now.value)};
  co_await fabric::transfer(fabric_, keeper_of(number), step);
  co_await protocol_.acquire_clock(now);
}

}  // namespace musubi::sync
