// Threads that wait for a plain word to change, and call nothing (docs/decisions/background.md): neither the
// thread that stores data and then a flag, nor the thread that reads the flag. Each node has a background
// that polls and answers. Waits must end, and from a rank's first poll on, a thread that sees a flag must
// find the data.
#include <array>
#include <optional>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 400
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr unsigned rounds = 8, rounds_between_barriers = 4;
constexpr std::uint64_t blocks = 6;
constexpr std::size_t counter_index = 7;

struct Word {
  std::uint64_t block;
  std::size_t index;
};

struct Hand {
  Node* node;
  Word data;
  Word flag;
};

struct Play {
  Stage& stage;
  std::vector<Hand> hands;
  std::size_t at_work = 0;
  unsigned failures = 0;
  unsigned checked = 0;  // flags that were seen when order was certain

  // Reads cost events: with a slow network there are fewer.
  std::uint64_t longest_look_ns() { return 2000 + 4 * stage.cluster().configuration().model.latency_ns; }
};

// No two hands share a word; a flag is next to data of other hands.
std::vector<Hand> hands_of(Stage& stage, std::uint32_t threads, Random& random) {
  std::vector<Hand> hands;
  const auto place = [&](std::size_t index) { return Word{random.below(blocks), index}; };
  for (std::uint32_t i = 0; i < stage.cluster().size() * threads; ++i) {
    hands.push_back({&stage.node(i % stage.cluster().size()), place(i), place(i)});
    if (hands.back().data.block == hands.back().flag.block)
      hands.back().flag.block = (hands.back().flag.block + 1) % blocks;
  }
  return hands;
}

// Other actions that occasionally publish blocks.
Task<> do_something_else(Play& play, Node& node) {
  Random& random = play.stage.cluster().world().random();
  const std::uint64_t what = random.below(12);
  if (what == 0) {
    Increment increment(counter_index);
    co_await node.modify(BlockId{random.below(blocks)}, increment);
  } else if (what == 1) {
    co_await node.lock(LockId{0});
    co_await node.unlock(LockId{0});
  }
}

Task<> await_flag(Play& play, Node& node, const Hand& other, std::uint64_t round) {
  for (;;) {
    const bool ordered = node.background().is_certain();
    const std::uint64_t flag = co_await load(node, other.flag.block, other.flag.index);
    if (flag < round) {
      co_await idle(play.stage, play.longest_look_ns());
      continue;
    }
    const std::uint64_t data = co_await load(node, other.data.block, other.data.index);
    if (!ordered || !node.background().is_certain()) co_return;
    ++play.checked;
    if (data < round) ++play.failures;
    co_return;
  }
}

Task<> count_up(Play& play, std::size_t self) {
  const Hand& own = play.hands[self];
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    co_await idle(play.stage, 4000);
    co_await store(*own.node, own.data.block, round, own.data.index);
    co_await do_something_else(play, *own.node);
    co_await store(*own.node, own.flag.block, round, own.flag.index);
    co_await do_something_else(play, *own.node);
    for (const Hand& other : play.hands) co_await await_flag(play, *own.node, other, round);
    if (round % rounds_between_barriers == 0) co_await meet(*own.node);
  }
  --play.at_work;
}

Task<> work_in_background(Play& play, Node& node) {
  while (play.at_work != 0) {
    co_await node.answer();
    if (play.stage.cluster().world().random().chance(30)) co_await node.poll();
    co_await idle(play.stage, play.longest_look_ns());
  }
}

void start(Play& play) {
  play.at_work = play.hands.size();
  for (std::size_t i = 0; i < play.hands.size(); ++i)
    play.stage.play(play.hands[i].node->self().value, count_up(play, i));
  for (std::uint32_t rank = 0; rank < play.stage.cluster().size(); ++rank)
    play.stage.play(rank, work_in_background(play, play.stage.node(rank)));
}

struct Sum {
  unsigned worlds_with_failures = 0;
  unsigned checked = 0;
};

void play_world(std::uint64_t seed, std::uint32_t nodes, std::uint32_t threads, InjectedBug bug, Sum& sum) {
  Configuration configuration = hostile(seed, nodes);
  configuration.threads = threads;
  configuration.background = 1;
  configuration.lock_uses = bug == InjectedBug::none ? seed % 3 : 0;
  configuration.bug = bug;
  Random random(seed);
  Stage stage(configuration, blocks);
  Play play{stage, hands_of(stage, threads, random)};
  start(play);
  stage.finish();
  sum.checked += play.checked;
  if (play.failures != 0) ++sum.worlds_with_failures;
}

Sum play_worlds(std::uint32_t nodes, std::uint32_t threads, InjectedBug bug) {
  Sum sum;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    play_world(seed, nodes, threads, bug, sum);
    if (testing::Test::HasFatalFailure()) break;
  }
  return sum;
}

void expect_data_with_flags(std::uint32_t nodes, std::uint32_t threads) {
  const Sum sum = play_worlds(nodes, threads, InjectedBug::none);
  EXPECT_EQ(sum.worlds_with_failures, 0u) << "of " << worlds;
  EXPECT_GT(sum.checked, worlds * nodes * threads) << "hardly anything was checked";
}

TEST(BackgroundLitmus, WaitsEndAndDataComesBeforeItsFlag) {
  expect_data_with_flags(2, 1);
  expect_data_with_flags(3, 1);
}

TEST(BackgroundLitmus, DataComesBeforeItsFlagToAllThreadsOfARank) {
  expect_data_with_flags(2, 2);
  expect_data_with_flags(3, 2);
}

// Worlds in which a poll was in progress when another rank began to keep order.
TEST(BackgroundLitmus, DataComesBeforeItsFlagWhereATurnBeganBeforeOrder) {
  Sum sum;
  for (const std::uint64_t seed : {378, 4540}) play_world(seed, 3, 2, InjectedBug::none, sum);
  EXPECT_EQ(sum.worlds_with_failures, 0u);
}

TEST(BackgroundLitmus, ReleasesMustBeAsOfOneMoment) {
  EXPECT_NE(play_worlds(2, 2, InjectedBug::not_as_of_now).worlds_with_failures, 0u);
}

TEST(BackgroundLitmus, ReleasesMustBeAnnounced) {
  EXPECT_NE(play_worlds(3, 2, InjectedBug::release_not_announced).worlds_with_failures, 0u);
}

// Node 1 starts to keep order, and reads a flag and data that node 2 stores.
struct OrderBegins {
  static constexpr Word data{1, 0}, flag{2, 0};
  Stage& stage;
  bool waits = false, flag_is_up = false, ends = false;
  std::uint64_t found_flag = 0, found_data = 0;
  bool was_certain = false;
};

Task<> answer_until_the_end(OrderBegins& play, Node& node) {
  while (!play.ends) {
    (void)co_await node.background().answer();
    co_await fabric::sim::think(1000);
  }
}

// Whether a reader that sees the flag finds the data. `start`: begins the nodes' actions.
bool finds_data(InjectedBug bug, void (*start)(OrderBegins&)) {
  Configuration configuration = calm(3);
  configuration.background = 1;
  configuration.bug = bug;
  Stage stage(configuration, blocks);
  OrderBegins play{stage};
  start(play);
  stage.finish();
  EXPECT_TRUE(play.was_certain);
  EXPECT_EQ(play.found_flag, 1u);
  return play.found_data == 1;
}

Task<> answer_and_set_flag(OrderBegins& play, Node& node) {
  for (bool answered = false; !answered;) {
    answered = co_await node.background().answer();
    co_await fabric::sim::think(100);
  }
  co_await store(node, play.data.block, 1, play.data.index);
  co_await store(node, play.flag.block, 1, play.flag.index);
  play.flag_is_up = true;
  co_await fabric::sim::think(500'000);
  co_await answer_until_the_end(play, node);
}

Task<> let_order_be_kept(OrderBegins& play, Node& node) {
  while (!play.flag_is_up) co_await fabric::sim::think(100);
  play.stage.play(node.self().value, node.renew_order());
  co_await fabric::sim::think(50'000);
  co_await answer_until_the_end(play, node);
}

Task<> poll_and_look(OrderBegins& play, Node& node) {
  EXPECT_EQ(co_await load(node, play.data.block, play.data.index), 0u);
  (void)co_await node.background().poll();
  play.was_certain = node.background().is_certain();
  play.found_flag = co_await load(node, play.flag.block, play.flag.index);
  play.found_data = co_await load(node, play.data.block, play.data.index);
  play.ends = true;
}

// Node 1 begins a poll, and node 2 answers it. Then node 2 stores data and a flag, and node 0 starts order.
// Node 1 keeps order before node 2 does.
void begin_beside_turn(OrderBegins& play) {
  Stage& stage = play.stage;
  do_now(stage, stage.node(2), store(stage.node(2), play.data.block, 0, play.data.index));
  stage.play(1, poll_and_look(play, stage.node(1)));
  stage.play(2, answer_and_set_flag(play, stage.node(2)));
  stage.play(0, let_order_be_kept(play, stage.node(0)));
}

TEST(BackgroundLitmus, ATurnWaitsUntilAllRanksKeepOrder) {
  EXPECT_TRUE(finds_data(InjectedBug::none, begin_beside_turn));
  EXPECT_FALSE(finds_data(InjectedBug::order_believed_of_all, begin_beside_turn));
}

Task<> meet_and_set_flag(OrderBegins& play, Node& node) {
  co_await store(node, play.data.block, 0, play.data.index + 1);
  co_await store(node, play.flag.block, 0, play.flag.index + 1);
  play.waits = true;
  co_await meet(node);
  co_await store(node, play.data.block, 1, play.data.index);
  co_await store(node, play.flag.block, 1, play.flag.index);
  play.flag_is_up = true;
}

Task<> let_order_be_kept_and_look(OrderBegins& play, Node& node) {
  constexpr unsigned looks_max = 20;
  while (!play.waits) co_await fabric::sim::think(100);
  co_await fabric::sim::think(50'000);
  co_await node.renew_order();
  (void)co_await node.background().poll();
  play.was_certain = node.background().is_certain();
  EXPECT_EQ(co_await load(node, play.data.block, play.data.index), 0u);
  co_await meet(node);
  while (!play.flag_is_up) co_await fabric::sim::think(10);
  for (unsigned look = 0; play.found_flag == 0 && look < looks_max; ++look) {
    if (look != 0) (void)co_await node.background().poll();
    play.found_flag = co_await load(node, play.flag.block, play.flag.index);
  }
  play.found_data = co_await load(node, play.data.block, play.data.index);
  play.ends = true;
}

// Node 2 waits at a barrier when node 1 starts order, and answers there. Then it stores data and a flag to
// blocks that it may still write.
void begin_at_barrier(OrderBegins& play) {
  Stage& stage = play.stage;
  stage.play(0, meet(stage.node(0)));
  stage.play(0, answer_until_the_end(play, stage.node(0)));
  stage.play(1, let_order_be_kept_and_look(play, stage.node(1)));
  stage.play(2, meet_and_set_flag(play, stage.node(2)));
  stage.play(2, answer_until_the_end(play, stage.node(2)));
}

TEST(BackgroundLitmus, ARankThatAnswersAtABarrierKeepsOrderBehindIt) {
  EXPECT_TRUE(finds_data(InjectedBug::none, begin_at_barrier));
  EXPECT_FALSE(finds_data(InjectedBug::order_not_kept_behind_barrier, begin_at_barrier));
}

// A thread returns to a block that was closed while faults are held.
Task<> come_back(Node& node, coherence::Touch touch) {
  const coherence::FaultOutcome outcome = co_await node.protocol().ordering().fault(BlockId{0}, touch);
  EXPECT_EQ(outcome, coherence::FaultOutcome::open);
}

// Node 0 changes word 0 of the block that node 1 has read.
Task<> hold_while_one_comes_back(Stage& stage, coherence::Touch touch, coherence::Reread& reread) {
  Node& node = stage.node(1);
  EXPECT_EQ(co_await load(node, 0), 0u);
  co_await store(stage.node(0), 0, 1);
  co_await stage.node(0).release();
  co_await node.protocol().ordering().hold_openings();
  co_await node.acquire();
  EXPECT_EQ(node.protocol().ordering().reread_while_held(), coherence::Reread::nothing);
  stage.play(1, come_back(node, touch));
  co_await idle(stage, 100'000);
  reread = node.protocol().ordering().reread_while_held();
  node.protocol().ordering().allow_openings();
}

coherence::Reread what_is_found(vm::Access wanted, std::size_t word) {
  Stage stage(calm(2), blocks);
  auto reread = coherence::Reread::looking;
  const std::uintptr_t address = stage.cluster().space().extent(BlockId{0}).address + 8 * word;
  stage.play(0, hold_while_one_comes_back(stage, {wanted, address}, reread));
  stage.finish();
  return reread;
}

TEST(BackgroundLitmus, OnlyLooksAtWordsThatHaveChangedAreTakenForWaits) {
  EXPECT_EQ(what_is_found(vm::Access::read, 0), coherence::Reread::change);
  EXPECT_EQ(what_is_found(vm::Access::read, 1), coherence::Reread::nothing);
  EXPECT_EQ(what_is_found(vm::Access::write, 0), coherence::Reread::nothing);
}

}  // namespace
}  // namespace musubi::sim
