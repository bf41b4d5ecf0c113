// Data handed over by atomics, as in C++ and OpenMP programs: a thread writes data by plain stores, then sets
// a flag by an atomic operation and goes on. Other threads read the flag by atomic operations, or only by
// plain loads while the background polls for them. Flags may be in stacks, which are always open at their
// owner. A reader that sees a flag must find the data.
#include <algorithm>
#include <tuple>
#include <utility>

#include "stage.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 120
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr unsigned rounds = 6, rounds_between_barriers = 3;
constexpr std::uint64_t blocks = 6;
constexpr std::size_t hands_max = 8, block_bytes = 2 * hands_max * sizeof(std::uint64_t);

enum class Looks : std::uint8_t {
  by_loads,
  by_atomics,
  mixed,  // two threads of a rank: one reads by loads, the other by operations that change the word
};

struct Setup {
  std::uint32_t nodes;
  std::uint32_t threads;
  bool flags_on_stacks;
  Looks looks;
  InjectedBug bug = InjectedBug::none;
  bool with_locks = false;   // a further thread on each node repeatedly takes a lock
  std::uint64_t times = 1;   // the number of worlds, in multiples
  std::uint32_t stacks = 1;  // stacks of each node
};

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
  const Setup& setup;
  std::vector<Hand> hands;
  bool described = false;
  std::size_t at_work = 0;
  unsigned failures = 0;

  std::uint64_t longest_look_ns() { return 2000 + 4 * stage.cluster().configuration().model.latency_ns; }
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

// Adds to a word, and returns its old value. Described operations may be done at the block's home, all other
// operations not.
class Raise final : public coherence::Modification {
 public:
  Raise(std::size_t index, std::uint64_t amount, bool described)
      : addition_{AtomicOperation::Kind::add, sizeof amount, amount} {
    offset = index * sizeof amount;
    bytes = sizeof amount;
    if (described) operation = &addition_;
  }
  void apply(std::byte* block) noexcept override { found_ = modify_in_place(block + offset, addition_); }
  void found(AtomicValue old) noexcept override { found_ = old; }
  std::uint64_t before() const { return static_cast<std::uint64_t>(found_) % one_look; }

 private:
  AtomicOperation addition_;
  AtomicValue found_ = 0;
};

Task<std::uint64_t> look(Play& play, std::size_t self, const Word& word) {
  const Setup& setup = play.setup;
  Node& node = *play.hands[self].node;
  const bool is_first = self < setup.nodes;
  if (setup.looks == Looks::by_loads || (setup.looks == Looks::mixed && is_first))
    co_return co_await load(node, word.block, word.index) % one_look;
  Raise look(word.index, setup.looks == Looks::mixed ? one_look : 0, play.described);
  co_await node.modify(BlockId{word.block}, look);
  co_return look.before();
}

Task<> count_up(Play& play, std::size_t self) {
  const Hand& own = play.hands[self];
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    co_await idle(play.stage, 4000);
    co_await store(*own.node, own.data.block, round, own.data.index);
    Raise raise(own.flag.index, 1, play.described);
    co_await own.node->modify(BlockId{own.flag.block}, raise);
    for (const Hand& other : play.hands) {
      for (;;) {
        const std::uint64_t flag = co_await look(play, self, other.flag);
        if (flag >= round) break;
        co_await idle(play.stage, play.longest_look_ns());
      }
      const std::uint64_t data = co_await load(*own.node, other.data.block, other.data.index);
      if (data < round) ++play.failures;
    }
    if (round % rounds_between_barriers == 0) co_await meet(*own.node);
  }
  --play.at_work;
}

Task<> take_locks(Play& play, Node& node) {
  while (play.at_work != 0) {
    co_await node.lock(LockId{0});
    co_await idle(play.stage, 500);
    co_await node.unlock(LockId{0});
    co_await idle(play.stage, play.longest_look_ns());
  }
}

Task<> work_in_background(Play& play, Node& node) {
  while (play.at_work != 0) {
    (void)co_await node.background().answer();
    if (play.stage.cluster().world().random().chance(30)) (void)co_await node.background().poll();
    co_await idle(play.stage, play.longest_look_ns());
  }
}

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
    Play play{stage, setup, hands_of(stage, setup, random)};
    play.described = random.chance(75);
    play.at_work = play.hands.size();
    for (std::size_t i = 0; i < play.hands.size(); ++i)
      stage.play(play.hands[i].node->self().value, count_up(play, i));
    for (std::uint32_t rank = 0; rank < setup.nodes; ++rank) {
      stage.play(rank, work_in_background(play, stage.node(rank)));
      if (setup.with_locks) stage.play(rank, take_locks(play, stage.node(rank)));
    }
    stage.finish(20'000'000);
    if (testing::Test::HasFatalFailure()) break;
    if (play.failures != 0) ++with_failures;
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
    EXPECT_EQ(worlds_with_failures({nodes, 2, false, Looks::mixed, InjectedBug::none, false, 2}), 0u);
}

TEST(AtomicsLitmus, OperationsFromElsewhereStayHiddenAtTheHome) {
  for (const auto& [bug, threads, looks] :
       {std::tuple{InjectedBug::rest_ended_unordered, 2u, Looks::by_loads},
        {InjectedBug::atomic_beside_order, 2u, Looks::by_loads},
        {InjectedBug::atomic_shown_to_siblings, 2u, Looks::mixed}}) {
    EXPECT_NE(worlds_with_failures({3, threads, false, looks, bug, false, 200}), 0u) << name_of(bug);
  }
}

TEST(AtomicsLitmus, FlagsMayLieInStacks) {
  expect_data_with_flags(true, Looks::by_atomics);
  expect_data_with_flags(true, Looks::by_loads);
}

// Data that an acquire itself fetches for a stack is visible before other threads may open the block of the
// flag.
TEST(AtomicsLitmus, DataMayLieInStacks) {
  EXPECT_EQ(worlds_with_failures({3, 2, true, Looks::by_loads, InjectedBug::none, false, 8}), 0u);
}

// The flag in one stack of a rank, its data in another.
TEST(AtomicsLitmus, FlagsOfOneStackComeAfterTheDataOfAnother) {
  EXPECT_EQ(worlds_with_failures({3, 2, true, Looks::by_loads, InjectedBug::none, false, 8, 2}), 0u);
}

TEST(AtomicsLitmus, LocksOfOthersShowNoFlagTooSoon) {
  for (std::uint32_t nodes : {2u, 3u}) {
    EXPECT_EQ(worlds_with_failures({nodes, 2, true, Looks::by_loads, InjectedBug::none, true}), 0u)
        << nodes << " nodes";
  }
}

// Order begins with an operation in the middle of the program, while faults of other ranks are in progress.
struct LateOrder {
  Stage& stage;
  std::size_t at_work = 0;
  unsigned failures = 0;
};

Task<> write_and_tell(LateOrder& late, Node& node, std::uint64_t data) {
  co_await idle(late.stage, 4000);
  co_await store(node, data, 1);
  co_await node.renew_order();
  Raise raise(0, 1, true);
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
  constexpr std::uint32_t nodes = 3;
  constexpr std::uint32_t writers[]{0, 0, 1};
  Configuration configuration = hostile(seed, nodes);
  configuration.threads = 2;
  configuration.background = 1;
  Stage stage(configuration, blocks, block_bytes);
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
  for (std::uint32_t rank = 0; rank < nodes; ++rank) stage.play(rank, answer_others(late, stage.node(rank)));
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
  Raise count(0, 1, true);
  co_await node.modify(BlockId{data + 1}, count);
  --late.at_work;
}

Task<> begin_and_look(LateOrder& late, Node& node, std::uint64_t data) {
  (void)co_await load(node, data);
  co_await idle(late.stage, 8000);
  co_await node.renew_order();
  Raise look(0, 0, true);
  co_await node.modify(BlockId{data + 1}, look);
  const std::uint64_t found = co_await load(node, data);
  if (look.before() == 1 && found == 0) ++late.failures;
  --late.at_work;
}

unsigned failures_of_sums_before_order(std::uint64_t seed, InjectedBug bug) {
  constexpr std::uint32_t nodes = 3;
  Configuration configuration = hostile(seed, nodes);
  configuration.threads = 2;
  configuration.background = 1;
  configuration.bug = bug;
  Stage stage(configuration, blocks, block_bytes);
  LateOrder late{stage};
  late.at_work = nodes;
  stage.play(0, write_and_count(late, stage.node(0), 0));
  for (std::uint32_t rank = 1; rank < nodes; ++rank)
    stage.play(rank, begin_and_look(late, stage.node(rank), 0));
  for (std::uint32_t rank = 0; rank < nodes; ++rank) stage.play(rank, answer_others(late, stage.node(rank)));
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
    for (std::uint32_t rank = 0; rank < 2; ++rank) stage.play(rank, count_under_lock(stage.node(rank), sum));
    stage.finish();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(AtomicsLitmus, WhatComesForStacksIsHeldBack) {
  EXPECT_NE(worlds_with_failures({3, 2, true, Looks::by_loads, InjectedBug::shown_before_acquired, false, 8}),
            0u);
}

}  // namespace
}  // namespace musubi::sim
