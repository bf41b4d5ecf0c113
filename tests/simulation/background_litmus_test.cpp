// Threads that wait for a plain word to change, and call nothing (docs/decisions/background.md): neither the
// thread that stores data and then a flag, nor the thread that reads the flag. Each node has a background
// that polls and answers. Waits must end, and from a rank's first poll on, a thread that sees a flag must
// find the data.
#include "handovers.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 400
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr std::uint64_t blocks = 6;

class WaitingPlay final : public Play {
 public:
  using Play::Play;
  unsigned checked() const { return checked_; }  // flags that were seen when order was certain

 private:
  // An atomic addition to a word next to the flags, or an empty critical section, occasionally: both publish
  // blocks.
  Task<> act_between(Node& node) override {
    const std::uint64_t action = random().below(12);
    if (action == 0) {
      AtomicChange increment(7, addition_of(1), false);
      co_await node.modify(BlockId{random().below(blocks)}, increment);
    } else if (action == 1) {
      co_await node.lock(LockId{0});
      co_await node.unlock(LockId{0});
    }
  }
  Task<> await_flag(const Hand& own, const Hand& other, std::uint64_t round) override {
    Node& node = *own.node;
    for (;;) {
      const bool ordered = node.background().is_certain();
      const std::uint64_t flag = co_await load(node, other.flag);
      if (flag < round) {
        co_await pause();
        continue;
      }
      const std::uint64_t data = co_await load(node, other.data);
      if (!ordered || !node.background().is_certain()) co_return;
      ++checked_;
      if (data < round) fail();
      co_return;
    }
  }
  Task<> poll(Node& node) override {
    co_await node.answer();
    if (random().chance(30)) co_await node.poll();
  }

  unsigned checked_ = 0;
};

struct Job {
  std::uint32_t nodes, threads;
  unsigned* checked = nullptr;

  bool operator()(std::uint64_t seed, InjectedBug bug) const {
    Configuration configuration = hostile(seed, nodes);
    configuration.threads = threads;
    configuration.background = 1;
    configuration.lock_uses = bug == InjectedBug::none ? seed % 3 : 0;
    configuration.bug = bug;
    Random random(seed);
    Stage stage(configuration, blocks);
    WaitingPlay play(stage, hands_of(stage, threads, blocks, random));
    play.start_hands(8);
    play.start_backgrounds();
    stage.finish();
    if (checked != nullptr) *checked += play.checked();
    return play.failures() == 0;
  }
};

void expect_data_with_flags(std::uint32_t nodes, std::uint32_t threads) {
  unsigned checked = 0;
  expect_right_in_all(worlds, Job{nodes, threads, &checked});
  EXPECT_GT(checked, worlds * nodes * threads) << "hardly anything was checked";
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
  for (const std::uint64_t seed : {378, 4540})
    EXPECT_TRUE((Job{.nodes = 3, .threads = 2}(seed, InjectedBug::none))) << "seed " << seed;
}

TEST(BackgroundLitmus, ReleasesMustBeAsOfOneMoment) {
  EXPECT_TRUE(is_found(worlds, Job{.nodes = 2, .threads = 2}, InjectedBug::not_as_of_now));
}

TEST(BackgroundLitmus, ReleasesMustBeAnnounced) {
  EXPECT_TRUE(is_found(worlds, Job{.nodes = 3, .threads = 2}, InjectedBug::release_not_announced));
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
  co_await store(node, play.data, 1);
  co_await store(node, play.flag, 1);
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
  EXPECT_EQ(co_await load(node, play.data), 0u);
  (void)co_await node.background().poll();
  play.was_certain = node.background().is_certain();
  play.found_flag = co_await load(node, play.flag);
  play.found_data = co_await load(node, play.data);
  play.ends = true;
}

// Node 1 begins a poll, and node 2 answers it. Then node 2 stores data and a flag, and node 0 starts order.
// Node 1 keeps order before node 2 does.
void begin_beside_turn(OrderBegins& play) {
  Stage& stage = play.stage;
  do_now(stage, stage.node(2), store(stage.node(2), play.data, 0));
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
  co_await store(node, play.data, 1);
  co_await store(node, play.flag, 1);
  play.flag_is_up = true;
}

Task<> let_order_be_kept_and_look(OrderBegins& play, Node& node) {
  constexpr unsigned looks_max = 20;
  while (!play.waits) co_await fabric::sim::think(100);
  co_await fabric::sim::think(50'000);
  co_await node.renew_order();
  (void)co_await node.background().poll();
  play.was_certain = node.background().is_certain();
  EXPECT_EQ(co_await load(node, play.data), 0u);
  co_await meet(node);
  while (!play.flag_is_up) co_await fabric::sim::think(10);
  for (unsigned look = 0; play.found_flag == 0 && look < looks_max; ++look) {
    if (look != 0) (void)co_await node.background().poll();
    play.found_flag = co_await load(node, play.flag);
  }
  play.found_data = co_await load(node, play.data);
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

enum class Closed : std::uint8_t { before_the_hold, by_the_hold };

// Node 0 changes word 0 of the block that node 1 has read.
Task<> hold_while_one_comes_back(Stage& stage, Closed closed, coherence::Touch touch,
                                 coherence::Reread& reread) {
  Node& node = stage.node(1);
  EXPECT_EQ(co_await load(node, 0), 0u);
  co_await store(stage.node(0), 0, 1);
  co_await stage.node(0).release();
  if (closed == Closed::before_the_hold) co_await node.acquire();
  co_await node.protocol().ordering().hold_openings();
  co_await node.acquire();
  EXPECT_EQ(node.protocol().ordering().reread_while_held(), coherence::Reread::nothing);
  stage.play(1, come_back(node, touch));
  co_await idle(stage, 100'000);
  reread = node.protocol().ordering().reread_while_held();
  node.protocol().ordering().allow_openings();
}

coherence::Reread what_is_found(Closed closed, vm::Access wanted, std::size_t word) {
  Stage stage(calm(2), blocks);
  auto reread = coherence::Reread::looking;
  const std::uintptr_t address = stage.cluster().space().extent(BlockId{0}).address + 8 * word;
  stage.play(0, hold_while_one_comes_back(stage, closed, {wanted, address}, reread));
  stage.finish();
  return reread;
}

TEST(BackgroundLitmus, OnlyLooksAtWordsThatHaveChangedAreTakenForWaits) {
  using coherence::Reread, vm::Access;
  EXPECT_EQ(what_is_found(Closed::by_the_hold, Access::read, 0), Reread::change);
  EXPECT_EQ(what_is_found(Closed::by_the_hold, Access::read, 1), Reread::nothing);
  EXPECT_EQ(what_is_found(Closed::by_the_hold, Access::write, 0), Reread::nothing);
  EXPECT_EQ(what_is_found(Closed::before_the_hold, Access::read, 0), Reread::nothing)
      << "a thread that waits could read the block until the hold began";
}

}  // namespace
}  // namespace musubi::sim
