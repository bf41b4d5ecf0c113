// A peer whose process takes nothing is not lost: its host answers.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "exchange_board.h"
#include "os/clock.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::uint32_t ranks = 2;
constexpr std::size_t region_bytes = std::size_t{4} << 20;
constexpr std::size_t puts = 16;  // more than any socket holds
constexpr std::chrono::milliseconds silence_max{1000};

void progress_for(Fabric& fabric, std::chrono::nanoseconds time) {
  const std::uint64_t end = os::monotonic_ns() + static_cast<std::uint64_t>(time.count());
  while (os::monotonic_ns() < end) {
    fabric.progress();
    ::usleep(1000);
  }
}

TEST(TcpSilence, APeerThatTakesNothingForLongIsNotLost) {
  std::array<TcpRank, ranks> all;
  LossCounter losses;
  ExchangeBoard board(ranks);
  open_all(ranks, [&](Rank rank) {
    TcpOptions options = tcp_options_of_tests();
    options.silence_max = silence_max;
    return all[rank.value].open(rank, ranks, region_bytes, options, board.of(rank), WaitingPolicy{}, &losses);
  });
  Fabric& sender = *all[0].fabric;
  Fabric& stopped = *all[1].fabric;

  const std::vector<std::byte> bytes(region_bytes, std::byte{7});
  const Step step = put(region_of_tests, 0, bytes.data(), bytes.size());
  std::array<Event, puts> done;
  for (Event& completion : done) ASSERT_EQ(sender.post(Rank{1}, {&step, 1}, completion), Outcome::pending);
  // Both must join first; then one of them stops.
  const auto begun = [&] {
    sender.progress();
    stopped.progress();
    return all[1].memory.data()[0] == std::byte{7};
  };
  ASSERT_TRUE(comes_true(begun));
  progress_for(sender, 3 * silence_max);
  EXPECT_FALSE(done.back().is_set());
  EXPECT_EQ(losses.failed.load(), 0u) << losses.reason.load();

  const auto all_are_done = [&] {
    sender.progress();
    stopped.progress();
    return done.back().is_set();
  };
  EXPECT_TRUE(comes_true(all_are_done));
  EXPECT_EQ(losses.failed.load(), 0u) << losses.reason.load();
}

}  // namespace
}  // namespace musubi::fabric::conformance
