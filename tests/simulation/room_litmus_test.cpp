// Homes that move because their rank has no room, while others read and write
// (docs/decisions/memory_as_cache.md), in many hostile worlds.
#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 400;
constexpr std::uint64_t blocks = 6;
constexpr unsigned turns = 8;
constexpr std::size_t word_of_first = 0, word_of_second = 3;
constexpr LockId lock{0};

// What has been written by the last unlock.
struct Written {
  std::uint64_t turn = 0;
  bool stale = false;
};

Configuration with_little_room(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 3);
  configuration.plain_flags = 0;
  configuration.protocol.leave_unpublished = true;
  configuration.model = {50, 500, 1000, 5, 5, 0, 0};  // much happens between the steps of a batch
  configuration.room_blocks = 3;
  configuration.bug = bug;
  return configuration;
}

Task<> write_all_under_lock(Stage& stage, Node& node, std::size_t word, Written* written) {
  for (unsigned turn = 1; turn <= turns; ++turn) {
    co_await node.locks().lock(lock);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t before = co_await load(node, block, word);
      if (before != written->turn) written->stale = true;
      co_await store(node, block, turn, word);
    }
    written->turn = turn;
    co_await node.unlock(lock);
    co_await idle(stage, 4000);
  }
}

Task<> check_all_under_lock(Stage& stage, Node& node, Written* first, Written* second) {
  for (unsigned turn = 1; turn <= turns; ++turn) {
    co_await idle(stage, 8000);
    for (std::uint64_t block = 0; block < blocks; ++block) (void)co_await load(node, block, word_of_first);
    co_await node.locks().lock(lock);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t of_first = co_await load(node, block, word_of_first);
      const std::uint64_t of_second = co_await load(node, block, word_of_second);
      if (of_first != first->turn) first->stale = true;
      if (of_second != second->turn) second->stale = true;
    }
    co_await node.unlock(lock);
  }
}

// One node writes everything; another the same blocks; the third reads.
bool all_see_all(std::uint64_t seed, InjectedBug bug) {
  Stage stage(with_little_room(seed, bug), blocks);
  Written first, second;
  stage.play(0, write_all_under_lock(stage, stage.node(0), word_of_first, &first));
  stage.play(1, write_all_under_lock(stage, stage.node(1), word_of_second, &second));
  stage.play(2, check_all_under_lock(stage, stage.node(2), &first, &second));
  return stage.ends_well() && !first.stale && !second.stale;
}

// Nobody else writes: the blocks sleep at node 0, and move while node 2 reads.
bool readers_see_all(std::uint64_t seed, InjectedBug bug) {
  Stage stage(with_little_room(seed, bug), blocks);
  Written first, second;
  stage.play(0, write_all_under_lock(stage, stage.node(0), word_of_first, &first));
  stage.play(2, check_all_under_lock(stage, stage.node(2), &first, &second));
  return stage.ends_well() && !first.stale && !second.stale;
}

TEST(RoomLitmus, HomesThatMoveHideNothing) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, all_see_all, InjectedBug::none), 0u);
  EXPECT_EQ(worlds_that_go_wrong(worlds, readers_see_all, InjectedBug::none), 0u);
}

TEST(RoomLitmus, BreachesOfItsRulesAreFound) {
  for (const InjectedBug bug :
       {InjectedBug::evicted_bytes_not_missed, InjectedBug::evicted_before_taken,
        InjectedBug::home_open_at_rest, InjectedBug::home_moved_unread, InjectedBug::home_change_not_told}) {
    const std::uint64_t wrong =
        worlds_that_go_wrong(worlds, all_see_all, bug) + worlds_that_go_wrong(worlds, readers_see_all, bug);
    EXPECT_GT(wrong, 0u) << name_of(bug);
  }
}

// What main writes alone goes to nodes with room; each of them keeps what it has room for.
TEST(RoomLitmus, WhatOneNodeWritesIsSpreadOverAll) {
  Configuration configuration = calm(4);
  configuration.room_blocks = 4;
  Stage stage(configuration, 12);
  const auto write_all = [](Node& node) -> Task<> {
    for (std::uint64_t block = 0; block < 12; ++block) co_await store(node, block, block + 1);
  };
  do_now(stage, stage.node(0), write_all(stage.node(0)));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_LE(stage.node(rank).protocol().room()->resident_bytes(), 5 * stage_block_bytes) << rank;
  }
  EXPECT_GE(stage.total(trace::Counter::homes_moved_away), 7u);
  all_meet(stage);
  const auto read_all = [](Node& node) -> Task<> {
    for (std::uint64_t block = 0; block < 12; ++block) {
      const std::uint64_t value = co_await load(node, block);
      EXPECT_EQ(value, block + 1);
    }
  };
  for (std::uint32_t rank = 0; rank < 4; ++rank) stage.play(rank, read_all(stage.node(rank)));
  stage.finish();
  EXPECT_GT(stage.total(trace::Counter::evictions), 0u);
}

}  // namespace
}  // namespace musubi::sim
