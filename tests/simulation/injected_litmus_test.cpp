// Faults put into the protocol on purpose that random programs meet too seldom: a scenario for each, in many
// hostile worlds. Without the fault nothing may go wrong in any of them.
#include "stage.h"

namespace musubi::sim {
namespace {

using coherence::InjectedBug;

constexpr std::uint64_t worlds = 1000;

// ---- twin_without_version ----
//
// The home's block is unpublished, read-only, and somebody holds a lease. The home opens it for writing,
// which makes a twin, and changes a word to and fro. A reader that looked before that and takes live bytes
// after it has the word's passing value and believes to have what the twin is; its own next version, of
// another word, then carries that value, and the home finds its word unchanged.

constexpr unsigned quiet_barriers = 6;  // until the home has looked, and protects the block
constexpr std::size_t word_of_home = 0, word_of_taker = 1;
constexpr std::uint64_t lasting = 1, passing = 2;

Task<> change_to_and_fro(Stage& stage, Node& node, std::uint64_t* value) {
  co_await store(node, 0, lasting, word_of_home);
  for (unsigned i = 0; i <= quiet_barriers; ++i) co_await meet(node);
  co_await idle(stage, node, 15000);
  co_await store(node, 0, passing, word_of_home);
  co_await idle(stage, node, 4000);
  co_await store(node, 0, lasting, word_of_home);
  co_await fabric::sim::think(node.executor(), 100000);  // the other one releases first
  co_await meet(node);
  *value = co_await load(node, 0, word_of_home);
  co_await meet(node);
}

Task<> take_a_lease(Node& node) {
  for (unsigned i = 0; i < quiet_barriers; ++i) co_await meet(node);
  (void)co_await load(node, 0, word_of_home);
  for (unsigned i = 0; i < 3; ++i) co_await meet(node);
}

Task<> write_another_word(Stage& stage, Node& node) {
  for (unsigned i = 0; i <= quiet_barriers; ++i) co_await meet(node);
  co_await idle(stage, node, 3000);
  (void)co_await load(node, 0, word_of_taker);
  co_await store(node, 0, 7, word_of_taker);
  for (unsigned i = 0; i < 2; ++i) co_await meet(node);
}

// Result: whether the home's word is right at the end, and no checker complains.
bool home_keeps_its_word(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 3);
  configuration.protocol.leave_unpublished = true;
  configuration.protocol.look_after_releases = 1;
  configuration.protocol.cached_bytes = 1 << 20;
  configuration.protocol.injected_bug = bug;
  configuration.model = {50, 500, 1000, 5, 5, 0, 0};  // much happens between the steps of a batch
  Stage stage(configuration, 1);
  std::uint64_t value = 0;
  stage.play(0, change_to_and_fro(stage, stage.node(0), &value));
  stage.play(1, take_a_lease(stage.node(1)));
  stage.play(2, write_another_word(stage, stage.node(2)));
  return stage.ends_well() && value == lasting;
}

std::uint64_t worlds_that_go_wrong(InjectedBug bug) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    if (home_keeps_its_word(seed, bug)) continue;
    ++wrong;
    if (bug == InjectedBug::none) ADD_FAILURE() << "seed " << seed;
  }
  return wrong;
}

TEST(InjectedLitmus, ATwinRaisesTheVersionOfAnUnpublishedBlock) {
  EXPECT_EQ(worlds_that_go_wrong(InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(InjectedBug::twin_without_version), 0u);
}

}  // namespace
}  // namespace musubi::sim
