#include "sync/clock.h"

#include <array>

#include "coherence/core/block_words.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

constexpr Rank keeper{0};

}  // namespace

Task<> Clock::release(bool as_of_now) {
  co_await protocol_.release(coherence::Scope::everything(), false);
  if (as_of_now) co_await protocol_.ordering().release_as_of_now();
  const std::uint64_t wanted = protocol_.clock().value;
  std::uint64_t expected = last_seen_.load(std::memory_order_relaxed);
  while (expected < wanted) {
    std::uint64_t seen = 0;
    std::array<fabric::Step, 1> step{
        fabric::compare_swap(coherence::control_region, offset_, &seen, expected, wanted)};
    co_await fabric::transfer(fabric_, keeper, step);
    if (seen == expected) seen = wanted;
    expected = seen;
  }
  last_seen_.store(expected, std::memory_order_relaxed);
}

Task<LogicalTime> Clock::now() {
  LogicalTime now{};
  std::array<fabric::Step, 1> step{
      fabric::get(coherence::control_region, offset_, &now.value, sizeof now.value)};
  co_await fabric::transfer(fabric_, keeper, step);
  co_return now;
}

Task<> Clock::acquire() {
  const LogicalTime time = co_await now();
  co_await protocol_.acquire_clock(time);
}

Task<bool> Clock::has_moved() {
  const LogicalTime time = co_await now();
  co_return time.value != last_seen_.exchange(time.value, std::memory_order_relaxed);
}

}  // namespace musubi::sync
