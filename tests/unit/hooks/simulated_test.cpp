// The hooks of the simulator, in the build that has them.
#include <gtest/gtest.h>

#include <vector>

#include "coherence/core/signature.h"
#include "hooks/hooks.h"

namespace musubi {
namespace {

static_assert(is_simulated_build);

struct Counting final : Interruption {
  void pass() noexcept override { ++passes; }
  void touch() noexcept override { ++touches; }
  std::size_t stretch(std::size_t) noexcept override { return 3; }
  int passes = 0;
  int touches = 0;
};

using Stretches = std::vector<std::pair<std::size_t, std::size_t>>;

TEST(SimulatedHooks, OthersActAfterEachStretchAndWordsStayWhole) {
  Counting counting;
  Hooks hooks;
  hooks.let_interrupt(&counting);
  Stretches seen;
  auto visit = [&](std::size_t at, std::size_t bytes) { seen.emplace_back(at, bytes); };
  hooks.for_each_stretch(4, 17, visit);
  EXPECT_EQ(seen, (Stretches{{4, 4}, {8, 8}, {16, 5}}));
  EXPECT_EQ(counting.passes, 3);
  hooks.touch();
  hooks.others_may_act();
  EXPECT_EQ(counting.touches, 1);
  EXPECT_EQ(counting.passes, 4);
}

TEST(SimulatedHooks, WithTheInjectedFaultTheMinimumOfASignatureStaysWhereItWas) {
  constexpr std::size_t room = 2;
  Hooks hooks;
  hooks.inject(InjectedBug::overflow_without_minimum);
  std::vector<std::uint64_t> board((coherence::signature_bytes(room) + 7) / 8);
  coherence::Signature signature(reinterpret_cast<std::byte*>(board.data()), room, hooks);
  for (const std::uint64_t block : {1, 2, 3}) {
    const LogicalTime write_ts{block * 10};
    signature.add({BlockId{block}, write_ts, write_ts + 10, Rank{3}});
  }
  EXPECT_EQ(signature.size(), room);
  EXPECT_EQ(signature.minimum(), LogicalTime{});
}

}  // namespace
}  // namespace musubi
