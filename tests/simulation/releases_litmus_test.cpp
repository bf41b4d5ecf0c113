// Blocks that sleep at their home while other ranks access them (docs/decisions/private_blocks.md), in many
// hostile worlds.
#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 1000;
constexpr std::uint64_t blocks = 6;
constexpr unsigned turns = 12;
constexpr std::size_t word_of_home = 0, word_of_taker = 3, atomic_word = 5;
constexpr LockId lock{0};

// The home's writes up to its last unlock.
struct Written {
  std::uint64_t turn = 0;
  bool stale = false;
};

// Unlocks repeatedly: no rank has come, and all blocks sleep.
Task<> write_all_under_lock(Stage& stage, Node& node, Written* written) {
  for (unsigned turn = 1; turn <= turns; ++turn) {
    co_await node.locks().lock(lock);
    for (std::uint64_t block = 0; block < blocks; ++block) co_await store(node, block, turn, word_of_home);
    written->turn = turn;
    co_await node.unlock(lock);
    co_await idle(stage, 4000);
  }
}

Task<> count_atomically(Stage& stage, Node& node) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    co_await idle(stage, 10000);
    AtomicChange increment(atomic_word, addition_of(1), false);
    increment.bytes = 24;  // more than is changed in place at the home: it is published
    co_await node.modify(BlockId{block}, increment);
  }
}

Task<> check_under_lock(Node& node, std::uint64_t block, Written* written) {
  co_await node.locks().lock(lock);
  const std::uint64_t value = co_await load(node, block, word_of_home);
  if (value != written->turn) written->stale = true;
  co_await node.unlock(lock);
}

// Comes at any moment, even during a release; the data that it gets then must not hide later notices.
Task<> look_and_check(Stage& stage, Node& node, Written* written) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    co_await idle(stage, 4000);
    (void)co_await load(node, block, word_of_home);
    co_await check_under_lock(node, block, written);
  }
}

Task<> write_and_check(Stage& stage, Node& node, Written* written) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    co_await idle(stage, 4000);
    co_await store(node, block, 7, word_of_taker);
    co_await check_under_lock(node, block, written);
    co_await idle(stage, 8000);
    co_await check_under_lock(node, block, written);
  }
}

Configuration with_sleepers(std::uint64_t seed, std::uint32_t nodes, InjectedBug bug) {
  Configuration configuration = hostile(seed, nodes);
  configuration.plain_flags = 0;
  configuration.protocol.leave_unpublished = true;
  configuration.model = {50, 500, 1000, 5, 5, 0, 0};  // much happens between the steps of a batch
  configuration.bug = bug;
  return configuration;
}

using Visitor = Task<>(Stage& stage, Node& node, Written* written);

bool goes_well_with(Visitor& first, Visitor& second, std::uint64_t seed, InjectedBug bug) {
  Stage stage(with_sleepers(seed, 3, bug), blocks);
  Written written;
  stage.play(0, write_all_under_lock(stage, stage.node(0), &written));
  stage.play(1, first(stage, stage.node(1), &written));
  stage.play(2, second(stage, stage.node(2), &written));
  return stage.ends_well() && !written.stale;
}

bool readers_see_all(std::uint64_t seed, InjectedBug bug) {
  return goes_well_with(look_and_check, look_and_check, seed, bug);
}
bool readers_and_writers_see_all(std::uint64_t seed, InjectedBug bug) {
  return goes_well_with(look_and_check, write_and_check, seed, bug);
}
bool atomics_hide_nothing(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = with_sleepers(seed, 2, bug);
  configuration.threads = 2;
  Stage stage(configuration, blocks);
  Written written;
  stage.play(0, write_all_under_lock(stage, stage.node(0), &written));
  stage.play(0, count_atomically(stage, stage.node(0)));
  stage.play(1, look_and_check(stage, stage.node(1), &written));
  return stage.ends_well() && !written.stale;
}

TEST(ReleasesLitmus, ReadersOfSleepingBlocksMissNoRelease) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, readers_see_all, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, readers_see_all, InjectedBug::reader_without_mark), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, readers_see_all, InjectedBug::leased_without_mark), 0u);
}

TEST(ReleasesLitmus, WritersToSleepingBlocksMissNoRelease) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, readers_and_writers_see_all, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, readers_and_writers_see_all, InjectedBug::taker_without_mark), 0u);
}

TEST(ReleasesLitmus, AnAtomicOperationWakesTheBlock) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, atomics_hide_nothing, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, atomics_hide_nothing, InjectedBug::not_woken), 0u);
}

}  // namespace
}  // namespace musubi::sim
