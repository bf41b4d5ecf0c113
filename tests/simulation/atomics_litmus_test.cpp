// Data handed over by atomics, as in C++ and OpenMP programs: a thread writes data by plain stores, then sets
// a flag by an atomic operation and goes on. Other threads read the flag by atomic operations, or only by
// plain loads while the background polls for them. Flags may be in stacks, which are always open at their
// owner. A reader that sees a flag must find the data.
#include <tuple>
#include <utility>

#include "handovers.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 120
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr std::uint64_t blocks = 6;
constexpr std::size_t hands_max = 8, block_bytes = 2 * hands_max * sizeof(std::uint64_t);

enum class Looks : std::uint8_t {
  by_loads,
  by_atomics,
  mixed,    // two threads of a rank: one reads by loads, the other by operations that change the word
  relaxed,  // all read by loads, and some change the word by operations that order nothing
};

struct Setup {
  std::uint32_t nodes;
  std::uint32_t threads;
  bool flags_on_stacks = false;
  Looks looks = Looks::by_loads;
  InjectedBug bug = InjectedBug::none;
  bool with_locks = false;   // a further thread on each node repeatedly takes a lock
  std::uint64_t times = 1;   // the number of worlds, in multiples
  std::uint32_t stacks = 1;  // stacks of each node
};

// No two hands share a word. A flag may be next to its data.
std::vector<Hand> hands_of(Stage& stage, const Setup& setup, Random& random) {
  std::vector<Hand> hands;
  const std::uint64_t flag_blocks = setup.flags_on_stacks ? setup.nodes * setup.stacks : blocks;
  for (std::uint32_t i = 0; i < setup.nodes * setup.threads; ++i) {
    hands.push_back({&stage.node(i % setup.nodes),
                     {random.below(blocks), i},
                     {random.below(flag_blocks), hands_max + i}});
  }
  return hands;
}

// For mixed readers; the value of the flag is in the bits below.
constexpr std::uint64_t one_look = std::uint64_t{1} << 32;

class AtomicPlay final : public Play {
 public:
  AtomicPlay(Stage& stage, const Setup& setup, Random& random)
      : Play(stage, hands_of(stage, setup, random)), setup_(setup), described_(random.chance(75)) {}

  void start_locks() {
    stage().play_on_all([&](Node& node) { return take_locks(node); });
  }

 private:
  Task<> set_flag(const Hand& own, std::uint64_t) override {
    AtomicChange raise(own.flag.index, addition_of(1), described_);
    co_await own.node->modify(BlockId{own.flag.block}, raise);
  }
  Task<> await_flag(const Hand& own, const Hand& other, std::uint64_t round) override {
    for (;;) {
      const std::uint64_t flag = co_await look(own, other.flag);
      if (flag >= round) break;
      co_await pause();
    }
    co_await check_data(own, other, round);
  }
  Task<> poll(Node& node) override { return answer_and_poll(node); }
  Task<std::uint64_t> look(const Hand& own, Word word) {
    const bool is_first = own.data.index < setup_.nodes;
    if (setup_.looks == Looks::relaxed) {
      AtomicChange change(word.index, addition_of(one_look), described_);
      change.orders_nothing = true;
      if (!is_first) co_await own.node->modify(BlockId{word.block}, change);
      co_return co_await load(*own.node, word) % one_look;
    }
    if (setup_.looks == Looks::by_loads || (setup_.looks == Looks::mixed && is_first))
      co_return co_await load(*own.node, word) % one_look;
    AtomicChange look(word.index, addition_of(setup_.looks == Looks::mixed ? one_look : 0), described_);
    co_await own.node->modify(BlockId{word.block}, look);
    co_return look.before() % one_look;
  }
  Task<> take_locks(Node& node) {
    while (!ended()) {
      co_await node.lock(LockId{0});
      co_await idle(stage(), 500);
      co_await node.unlock(LockId{0});
      co_await pause();
    }
  }

  const Setup& setup_;
  bool described_;
};

void lay_out_stacks(Stage& stage, std::uint32_t per_node = 1) {
  const std::uint32_t nodes = stage.cluster().size();
  for (std::uint32_t i = 0; i < nodes * per_node; ++i) {
    const vm::Extent stack = stage.cluster().space().extent(BlockId{i});
    coherence::Protocol& protocol = stage.node(i % nodes).protocol();
    protocol.pin(BlockId{i}, 1);
    protocol.note_stack(i / nodes, stack.address, stack.address + stack.bytes);
  }
}

// Result: the number of worlds in which a flag arrived without its data; with an injected fault, whether
// there was one.
unsigned worlds_with_failures(const Setup& setup) {
  unsigned with_failures = 0;
  for (std::uint64_t seed = 1; seed <= setup.times * worlds; ++seed) {
    Configuration configuration = hostile(seed, setup.nodes);
    configuration.threads = setup.threads;
    configuration.plain_flags = 1;
    configuration.outsiders = setup.with_locks ? 1 : 0;
    configuration.background = 1;
    configuration.bug = setup.bug;
    Random random(seed);
    Stage stage(configuration, blocks, block_bytes);
    if (setup.flags_on_stacks) lay_out_stacks(stage, setup.stacks);
    AtomicPlay play(stage, setup, random);
    play.start_hands();
    play.start_backgrounds();
    if (setup.with_locks) play.start_locks();
    stage.finish(20'000'000);
    if (testing::Test::HasFatalFailure()) break;
    if (play.failures() != 0) ++with_failures;
    if (with_failures != 0 && setup.bug != InjectedBug::none) break;  // it is found
  }
  return with_failures;
}

void expect_data_with_flags(bool flags_on_stacks, Looks looks) {
  for (const auto& [nodes, threads] : {std::pair{2u, 1u}, {3u, 1u}, {2u, 2u}, {3u, 2u}}) {
    const Setup setup{nodes, threads, flags_on_stacks, looks};
    EXPECT_EQ(worlds_with_failures(setup), 0u) << nodes << " nodes of " << threads << ", of " << worlds;
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(AtomicsLitmus, WhoFindsAFlagByAnAtomicOperationFindsTheData) {
  expect_data_with_flags(false, Looks::by_atomics);
}

TEST(AtomicsLitmus, WhoFindsAFlagByALoadFindsTheData) {
  expect_data_with_flags(false, Looks::by_loads);
}

TEST(AtomicsLitmus, WhatAnOperationFindsIsNotShownToSiblingsBeforeTheData) {
  for (std::uint32_t nodes : {2u, 3u})
    EXPECT_EQ(worlds_with_failures({.nodes = nodes, .threads = 2, .looks = Looks::mixed, .times = 2}), 0u);
}

// An operation that orders nothing continues the release sequence of one that does (ISO C, 5.1.2.5).
TEST(AtomicsLitmus, ARelaxedOperationShowsNoFlagBeforeItsData) {
  for (std::uint32_t nodes : {2u, 3u})
    EXPECT_EQ(worlds_with_failures({.nodes = nodes, .threads = 2, .looks = Looks::relaxed, .times = 4}), 0u);
}

TEST(AtomicsLitmus, OperationsFromElsewhereStayHiddenAtTheHome) {
  for (const auto& [bug, threads, looks] :
       {std::tuple{InjectedBug::rest_ended_unordered, 2u, Looks::by_loads},
        {InjectedBug::atomic_beside_order, 2u, Looks::by_loads},
        {InjectedBug::atomic_shown_to_siblings, 2u, Looks::mixed},
        {InjectedBug::atomic_shown_to_siblings, 2u, Looks::relaxed}}) {
    EXPECT_NE(
        worlds_with_failures({.nodes = 3, .threads = threads, .looks = looks, .bug = bug, .times = 200}), 0u)
        << name_of(bug);
  }
}

TEST(AtomicsLitmus, FlagsMayLieInStacks) {
  expect_data_with_flags(true, Looks::by_atomics);
  expect_data_with_flags(true, Looks::by_loads);
}

// Data that an acquire itself fetches for a stack is visible before other threads may open the block of the
// flag.
TEST(AtomicsLitmus, DataMayLieInStacks) {
  EXPECT_EQ(worlds_with_failures({.nodes = 3, .threads = 2, .flags_on_stacks = true, .times = 4}), 0u);
}

// The flag in one stack of a rank, its data in another.
TEST(AtomicsLitmus, FlagsOfOneStackComeAfterTheDataOfAnother) {
  EXPECT_EQ(
      worlds_with_failures({.nodes = 3, .threads = 2, .flags_on_stacks = true, .times = 4, .stacks = 2}), 0u);
}

TEST(AtomicsLitmus, LocksOfOthersShowNoFlagTooSoon) {
  for (std::uint32_t nodes : {2u, 3u}) {
    EXPECT_EQ(
        worlds_with_failures({.nodes = nodes, .threads = 2, .flags_on_stacks = true, .with_locks = true}), 0u)
        << nodes << " nodes";
  }
}

// Order begins with an operation in the middle of the program, while faults of other ranks are in progress.
constexpr std::uint32_t nodes = 3;
Configuration late_order(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, nodes);
  configuration.threads = 2;
  configuration.background = 1;
  configuration.bug = bug;
  return configuration;
}

struct LateOrder {
  Stage& stage;
  std::size_t at_work = 0;
  unsigned failures = 0;
};

Task<> write_and_tell(LateOrder& late, Node& node, std::uint64_t data) {
  co_await idle(late.stage, 4000);
  co_await store(node, data, 1);
  co_await node.renew_order();
  AtomicChange raise(0, addition_of(1), true);
  co_await node.modify(BlockId{data + 1}, raise);
  --late.at_work;
}

Task<> look_once(LateOrder& late, Node& node, std::uint64_t data) {
  (void)co_await load(node, data);
  co_await idle(late.stage, 8000);
  const std::uint64_t flag = co_await load(node, data + 1);
  const std::uint64_t found = co_await load(node, data);
  if (flag == 1 && found == 0) ++late.failures;
  --late.at_work;
}

Task<> answer_others(LateOrder& late, Node& node) {
  while (late.at_work != 0) {
    (void)co_await node.background().answer();
    co_await idle(late.stage, 1000);
  }
}

// Threads of one rank and of two begin it at the same time; the flag follows its data. Result: how often the
// flag was seen before the data.
unsigned failures_when_order_begins(std::uint64_t seed) {
  constexpr std::uint32_t writers[]{0, 0, 1};
  Stage stage(late_order(seed, InjectedBug::none), blocks, block_bytes);
  LateOrder late{stage};
  std::uint64_t data = 0;
  for (const std::uint32_t writer : writers) {
    stage.play(writer, write_and_tell(late, stage.node(writer), data));
    for (std::uint32_t rank = 0; rank < nodes; ++rank) {
      if (rank != writer) stage.play(rank, look_once(late, stage.node(rank), data));
    }
    late.at_work += nodes;
    data += 2;
  }
  stage.play_on_all([&](Node& node) { return answer_others(late, node); });
  stage.finish();
  return late.failures;
}

TEST(AtomicsLitmus, OrderMayBeginWithAnyOperation) {
  for (std::uint64_t seed = 1; seed <= 20 * worlds; ++seed) {
    ASSERT_EQ(failures_when_order_begins(seed), 0u) << "seed " << seed;
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A sum that orders nothing by itself, and a thread that reads it by the operation with which order begins.
Task<> write_and_count(LateOrder& late, Node& node, std::uint64_t data) {
  co_await idle(late.stage, 4000);
  co_await store(node, data, 1);
  AtomicChange count(0, addition_of(1), true);
  co_await node.modify(BlockId{data + 1}, count);
  --late.at_work;
}

Task<> begin_and_look(LateOrder& late, Node& node, std::uint64_t data) {
  (void)co_await load(node, data);
  co_await idle(late.stage, 8000);
  co_await node.renew_order();
  AtomicChange look(0, addition_of(0), true);
  co_await node.modify(BlockId{data + 1}, look);
  const std::uint64_t found = co_await load(node, data);
  if (look.before() == 1 && found == 0) ++late.failures;
  --late.at_work;
}

unsigned failures_of_sums_before_order(std::uint64_t seed, InjectedBug bug) {
  Stage stage(late_order(seed, bug), blocks, block_bytes);
  LateOrder late{stage};
  late.at_work = nodes;
  stage.play(0, write_and_count(late, stage.node(0), 0));
  for (std::uint32_t rank = 1; rank < nodes; ++rank)
    stage.play(rank, begin_and_look(late, stage.node(rank), 0));
  stage.play_on_all([&](Node& node) { return answer_others(late, node); });
  stage.finish();
  return late.failures;
}

TEST(AtomicsLitmus, WhatWasWrittenBeforeOrderBeganIsFound) {
  for (std::uint64_t seed = 1; seed <= 10 * worlds; ++seed) {
    ASSERT_EQ(failures_of_sums_before_order(seed, InjectedBug::none), 0u) << "seed " << seed;
    if (testing::Test::HasFatalFailure()) return;
  }
  unsigned failures = 0;
  for (std::uint64_t seed = 1; seed <= 10 * worlds && failures == 0; ++seed)
    failures = failures_of_sums_before_order(seed, InjectedBug::answered_without_release);
  EXPECT_NE(failures, 0u);
}

// One rank has credit already, and asks another rank, which has none yet, since its grant is still in
// progress.
TEST(AtomicsLitmus, RanksThatAnswerHaveCredit) {
  for (const std::uint64_t seed :
       {1117u, 12819u, 15615u, 17533u, 19737u, 23510u, 28270u, 30962u, 33341u, 58213u})
    EXPECT_EQ(failures_when_order_begins(seed), 0u) << "seed " << seed;
}

// Blocks continue to be published, and updates of stacks to be deferred.
Task<> count_under_lock(Node& node, std::uint64_t& sum) {
  constexpr unsigned barriers_of_order = 70, counts = 5;
  for (unsigned i = 0; i < barriers_of_order; ++i) co_await meet(node);
  for (unsigned i = 0; i < counts; ++i) {
    co_await node.lock(LockId{0});
    const std::uint64_t before = co_await load(node, 0);
    co_await store(node, 0, before + 1);
    co_await node.unlock(LockId{0});
    ++sum;
  }
  co_await meet(node);
  EXPECT_EQ(co_await load(node, 0), sum);
}

TEST(AtomicsLitmus, LocksShowStacksWhenOrderHasEnded) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 2);
    configuration.plain_flags = 1;
    Stage stage(configuration, blocks, block_bytes);
    lay_out_stacks(stage);
    std::uint64_t sum = 0;
    stage.play_on_all([&](Node& node) { return count_under_lock(node, sum); });
    stage.finish();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(AtomicsLitmus, WhatComesForStacksIsHeldBack) {
  EXPECT_NE(worlds_with_failures({.nodes = 3,
                                  .threads = 2,
                                  .flags_on_stacks = true,
                                  .bug = InjectedBug::shown_before_acquired,
                                  .times = 8}),
            0u);
}

}  // namespace
}  // namespace musubi::sim
