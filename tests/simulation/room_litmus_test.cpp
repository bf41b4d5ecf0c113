// Shortage of memory (docs/decisions/memory.md), in named scenarios: copies are evicted and homes
// move, concurrently with other ranks' actions on the same blocks.
#include <algorithm>
#include <array>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

#ifndef MUSUBI_ROOM_WORLDS
#define MUSUBI_ROOM_WORLDS 100
#endif
constexpr std::uint64_t worlds = MUSUBI_ROOM_WORLDS;
constexpr std::uint64_t blocks = 6, events_max = 20'000'000;

Configuration short_of_memory(std::uint64_t seed, std::uint32_t nodes, std::uint32_t room_blocks) {
  Configuration configuration = hostile(seed, nodes);
  configuration.block_bytes = stage_block_bytes;
  configuration.room_blocks = room_blocks;
  return configuration;
}

// Totals over all worlds of a scenario.
struct Sum {
  unsigned failures = 0;  // worlds
  std::uint64_t evictions = 0;
  std::uint64_t moves = 0;

  void add(Stage& stage, bool failed) {
    failures += failed ? 1 : 0;
    evictions += stage.total(Counter::evictions);
    moves += stage.total(Counter::homes_moved_away);
  }
};

// ---- data handed over by plain flags ----

constexpr unsigned rounds = 6, rounds_between_barriers = 3;

struct Word {
  std::uint64_t block;
  std::size_t index;
};
struct Hand {
  Node* node;
  Word data, flag;
};
struct Play {
  Stage& stage;
  std::vector<Hand> hands;
  std::size_t at_work = 0;
  unsigned failures = 0;
};

// Increments data, then a flag in another block, and flushes until all other hands are as far. No two hands
// share a word. Between the two it accesses another block, so that homes move, and bytes are dropped, at
// every place.
Task<> count_up(Play& play, std::size_t self) {
  const Hand& own = play.hands[self];
  Node& node = *own.node;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    co_await idle(play.stage, 4000);
    co_await store(node, own.data.block, round, own.data.index);
    if (play.stage.cluster().world().random().chance(50))
      (void)co_await load(node, play.stage.cluster().world().random().below(blocks), 7);
    co_await store(node, own.flag.block, round, own.flag.index);
    for (const Hand& other : play.hands) {
      for (;;) {
        const std::uint64_t flag = co_await load(node, other.flag.block, other.flag.index);
        if (flag >= round) break;
        co_await node.flush();
      }
      const std::uint64_t data = co_await load(node, other.data.block, other.data.index);
      if (data < round) ++play.failures;
    }
    if (round % rounds_between_barriers == 0) co_await meet(node);
  }
  --play.at_work;
}

Task<> answer_in_background(Play& play, Node& node) {
  while (play.at_work != 0) {
    (void)co_await node.background().answer();
    co_await idle(play.stage, 2000 + play.stage.cluster().configuration().model.latency_ns);
  }
}

void start(Play& play, std::uint32_t threads, std::uint64_t seed) {
  Stage& stage = play.stage;
  const std::uint32_t nodes = stage.cluster().size();
  Random random(seed);
  for (std::uint32_t i = 0; i < nodes * threads; ++i) {
    const std::uint64_t data = random.below(blocks), flag = (data + 1 + random.below(blocks - 1)) % blocks;
    play.hands.push_back({&stage.node(i % nodes), {data, i}, {flag, i}});
  }
  play.at_work = play.hands.size();
  for (std::size_t i = 0; i < play.hands.size(); ++i) stage.play(i % nodes, count_up(play, i));
  for (std::uint32_t rank = 0; rank < nodes; ++rank)
    stage.play(rank, answer_in_background(play, stage.node(rank)));
}

// With a fault until it is found.
Sum hand_over(std::uint32_t nodes, std::uint32_t threads, InjectedBug bug) {
  Sum sum;
  const std::uint64_t most = bug == InjectedBug::none ? worlds : 10 * worlds;
  for (std::uint64_t seed = 1; seed <= most && sum.failures == 0; ++seed) {
    Configuration configuration = short_of_memory(seed, nodes, threads + seed % 3);
    configuration.threads = threads;
    configuration.plain_flags = 1;
    configuration.background = 1;
    configuration.bug = bug;
    Stage stage(configuration, blocks);
    Play play{stage, {}};
    start(play, threads, seed);
    if (bug == InjectedBug::none) {
      stage.finish(events_max);
      if (testing::Test::HasFatalFailure()) break;
      sum.add(stage, play.failures != 0);
    } else {
      const bool ended = stage.ends_well(events_max);
      sum.add(stage, !ended || play.failures != 0);
    }
  }
  return sum;
}

void expect_data_with_flags(std::uint32_t nodes, std::uint32_t threads) {
  const Sum sum = hand_over(nodes, threads, InjectedBug::none);
  EXPECT_EQ(sum.failures, 0u) << "of " << worlds;
  EXPECT_GT(sum.evictions, worlds);
  EXPECT_GT(sum.moves, worlds);
}

TEST(RoomLitmus, DataComesBeforeItsFlag) {
  expect_data_with_flags(2, 1);
  expect_data_with_flags(4, 1);
}

TEST(RoomLitmus, DataComesBeforeItsFlagToAllThreadsOfARank) {
  expect_data_with_flags(2, 2);
  expect_data_with_flags(3, 2);
}

TEST(RoomLitmus, InOrderAHomeMovesOnlyWithWhatIsReleased) {
  EXPECT_NE(hand_over(3, 2, InjectedBug::home_moved_unreleased).failures, 0u);
}

// ---- the home of a flag moves to the rank that reads it ----

constexpr std::uint64_t data_block = 2, flag_block = 4;  // both begin at node 0 of two

Configuration in_order(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 2);
  configuration.plain_flags = 1;
  configuration.bug = bug;
  return configuration;
}

// Node 0 offers all that it can, and node 1 takes the block of the flag.
Task<> move_home(Stage& stage) {
  coherence::Room& from = *stage.node(0).protocol().room();
  coherence::Room& to = *stage.node(1).protocol().room();
  std::array<BlockId, blocks> homes;
  (void)co_await from.throw_out(SIZE_MAX / 2);  // so it learns which blocks have no copy
  const coherence::Offer offer = co_await from.offer(homes);
  const std::span<const BlockId> offered = std::span<const BlockId>(homes).first(offer.count);
  const std::array<BlockId, 1> taken{BlockId{flag_block}};
  if (std::ranges::count(offered, taken[0]) != 0) (void)co_await to.take_over(taken, SIZE_MAX / 2);
  (void)co_await from.end_offer(offered);
}

// It has an old copy of the data.
Task<> look_at_flag(Node& node, bool* failed) {
  const std::uint64_t flag = co_await load(node, flag_block);
  const std::uint64_t data = co_await load(node, data_block);
  *failed = flag == 2 && data != 2;
}

Task<> write_both(Node& node, std::uint64_t value) {
  co_await store(node, data_block, value);
  co_await store(node, flag_block, value);
}

// Both are released with the value 1, and node 1 has seen the data.
void prepare(Stage& stage) {
  do_now(stage, stage.node(0), write_both(stage.node(0), 1));
  all_meet(stage);
  bool failed = false;
  do_now(stage, stage.node(1), look_at_flag(stage.node(1), &failed));
  all_meet(stage);
}

// The flag and its data are released; the home of the flag moves.
unsigned worlds_with_released_flags(InjectedBug bug) {
  unsigned failures = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(in_order(seed, bug), blocks);
    prepare(stage);
    do_now(stage, stage.node(0), write_both(stage.node(0), 2));
    do_now(stage, stage.node(0), stage.node(0).flush());
    do_now(stage, stage.node(0), move_home(stage));
    bool failed = false;
    do_now(stage, stage.node(1), look_at_flag(stage.node(1), &failed));
    if (testing::Test::HasFatalFailure()) break;
    failures += failed ? 1 : 0;
  }
  return failures;
}

TEST(RoomLitmus, InOrderWhatCameWithAHomeMustBeAcquired) {
  EXPECT_EQ(worlds_with_released_flags(InjectedBug::none), 0u);
  EXPECT_NE(worlds_with_released_flags(InjectedBug::home_shown_before_acquired), 0u);
}

// The flag is written while its home moves; neither it nor its data are released.
Task<> write_beside(Stage& stage) {
  co_await idle(stage, 20 * stage.cluster().configuration().model.latency_ns);
  co_await store(stage.node(0), flag_block, 2);
}
unsigned worlds_with_unreleased_flags(InjectedBug bug, std::uint64_t* moves) {
  unsigned failures = 0;
  for (std::uint64_t seed = 1; seed <= 30 * worlds; ++seed) {
    Stage stage(in_order(seed, bug), blocks);
    prepare(stage);
    do_now(stage, stage.node(0), store(stage.node(0), data_block, 2));
    stage.play(0, write_beside(stage));
    do_now(stage, stage.node(0), move_home(stage));
    bool failed = false;
    do_now(stage, stage.node(1), look_at_flag(stage.node(1), &failed));
    if (testing::Test::HasFatalFailure()) break;
    failures += failed ? 1 : 0;
    *moves += stage.total(Counter::homes_moved_away);
  }
  return failures;
}

TEST(RoomLitmus, InOrderNothingIsWrittenWhileItsLiveBytesAreTaken) {
  std::uint64_t moves = 0;
  EXPECT_EQ(worlds_with_unreleased_flags(InjectedBug::none, &moves), 0u);
  EXPECT_GT(moves, 10 * worlds);
  EXPECT_NE(worlds_with_unreleased_flags(InjectedBug::written_while_taken, &moves), 0u);
}

// ---- a thread returns to bytes that were evicted ----

Task<> touch(Node& node) {
  const coherence::Touch touch{vm::Access::read, 0x10000};
  EXPECT_EQ(co_await node.protocol().ordering().fault(BlockId{0}, touch), coherence::FaultOutcome::open);
}

Task<> come_back_after_eviction(Stage& stage, coherence::Reread* found) {
  Node& node = stage.node(1);
  EXPECT_EQ(co_await load(node, 0), 0u);
  co_await store(stage.node(0), 0, 1);
  co_await stage.node(0).release();
  co_await node.acquire();
  EXPECT_FALSE(node.vm().allows(BlockId{0}, vm::Access::read));
  (void)co_await node.protocol().room()->throw_out(SIZE_MAX / 2);
  co_await node.protocol().ordering().hold_openings();
  stage.play(1, touch(node));
  co_await idle(stage, 100'000);
  *found = node.protocol().ordering().reread_while_held();
  node.protocol().ordering().allow_openings();
}

TEST(RoomLitmus, AReturnToWhatWasThrownOutIsNoWait) {
  Stage stage(calm(2), blocks);
  // Version 0 is not lost, since all of it is zeros.
  do_now(stage, stage.node(0), store(stage.node(0), 0, 0));
  all_meet(stage);
  auto found = coherence::Reread::change;
  do_now(stage, stage.node(1), come_back_after_eviction(stage, &found));
  EXPECT_EQ(found, coherence::Reread::nothing);
  EXPECT_EQ(stage.total(Counter::evictions), 1u);
}

}  // namespace
}  // namespace musubi::sim
