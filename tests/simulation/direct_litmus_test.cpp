// Ranks of one host that operate atomically on the live word of a block at its home, without its lock
// (docs/decisions/direct_operations.md), beside threads that read and write other words of the block, in
// hostile worlds.
#include <cstdint>

#include "stage.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_DIRECT_WORLDS
#define MUSUBI_DIRECT_WORLDS 2000
#endif
constexpr std::uint64_t worlds = MUSUBI_DIRECT_WORLDS;
constexpr std::uint32_t nodes = 3, threads = 2;
constexpr std::size_t counter = 7;
std::uint64_t operations = 0;  // done directly, in all worlds

// Adds one, wherever the word is.
class Addition final : public coherence::Modification {
 public:
  Addition() {
    operation = &one;
    offset = counter * sizeof(std::uint64_t);
    bytes = one.bytes;
  }
  void apply(std::byte* block) noexcept override { (void)modify_in_place(block + offset, one); }
  void found(AtomicValue) noexcept override {}

 private:
  static constexpr AtomicOperation one{AtomicOperation::Kind::add, sizeof(std::uint64_t), 1, 0, false};
};

// Long rounds: the version changes hands meanwhile. Short ones: the last operation is soon looked for.
struct Shape {
  unsigned rounds, additions;
};
constexpr Shape long_rounds{6, 12}, short_rounds{24, 3};

struct Actor {
  std::uint32_t number;
  bool reads;
  bool writes;
};
struct Counted {
  std::uint64_t total = 0;
  bool is_wrong = false;
};

// Between two barriers all add, and some look at the block meanwhile. A thread never sees less than was
// counted before the barrier, and what it has added itself; behind the barrier it sees all.
Task<> count(Stage& stage, Node& node, Counted& counted, Actor actor, Shape shape) {
  if (actor.writes) co_await store(node, 0, 1, actor.number);
  for (unsigned i = 0; i < 4; ++i) co_await meet(node);
  for (unsigned round = 0; round < shape.rounds; ++round) {
    const std::uint64_t before = counted.total;
    co_await meet(node);
    for (std::uint64_t i = 1; i <= shape.additions; ++i) {
      Addition addition;
      co_await node.modify(BlockId{0}, addition);
      ++counted.total;
      co_await idle(stage, 400);
      if (actor.writes && i % 3 == round % 3) co_await store(node, 0, before + i, actor.number);
      if (!actor.reads || stage.cluster().world().random().chance(50)) continue;
      const std::uint64_t seen = co_await load(node, 0, counter);
      if (seen < before + i) counted.is_wrong = true;
    }
    co_await meet(node);
    const bool looks = actor.reads || round % 2 == 1;
    if (looks && co_await load(node, 0, counter) != counted.total) counted.is_wrong = true;
    co_await meet(node);
  }
}

Configuration near_ranks(std::uint64_t seed, std::uint32_t count, InjectedBug bug) {
  Configuration configuration = hostile(seed, count);
  configuration.threads = threads;
  configuration.plain_flags = 0;
  configuration.interruption = 40;
  configuration.protocol.leave_unpublished = true;
  configuration.model = fabric::sim::LatencyModel::shared_memory();
  configuration.model.local_pointer = true;
  configuration.bug = bug;
  return configuration;
}

// Which threads also read the counter, and which write words of their own beside it: a bit for each.
bool counts_right(std::uint64_t seed, InjectedBug bug, Shape shape) {
  Stage stage(near_ranks(seed, nodes, bug), 1);
  Counted counted;
  Random masks(seed);
  const std::uint64_t reading = masks.next() & masks.next(), writing = masks.next() & masks.next();
  for (std::uint32_t thread = 0; thread < nodes * threads; ++thread) {
    const Actor actor{thread, (reading >> thread & 1) != 0, thread == 0 || (writing >> thread & 1) != 0};
    const std::uint32_t rank = thread / threads;
    stage.play(rank, count(stage, stage.node(rank), counted, actor, shape));
  }
  const bool right = stage.ends_well() && !counted.is_wrong;
  operations += stage.total(trace::Counter::direct_atomics);
  return right;
}

// One thread adds and looks; a thread of the same rank looks, too, and so brings the block there. Another
// rank adds in between, so that each round begins without it.
Task<> add_and_look(Stage& stage, Node& node, bool* wrong) {
  std::uint64_t count = 0;
  for (unsigned round = 0; round < 12; ++round) {
    co_await meet(node);
    for (unsigned i = 0; i < 4; ++i) {
      Addition addition;
      co_await node.modify(BlockId{0}, addition);
      ++count;
      co_await idle(stage, 200);
      if (stage.cluster().world().random().chance(70)) continue;
      if (co_await load(node, 0, counter) != count) *wrong = true;
    }
    co_await idle(stage, 2000);
    co_await meet(node);
    ++count;
    co_await meet(node);
  }
}
Task<> look(Stage& stage, Node& node) {
  for (unsigned round = 0; round < 12; ++round) {
    co_await meet(node);
    co_await idle(stage, 800);
    (void)co_await load(node, 0, counter);
    co_await meet(node);
    co_await meet(node);
  }
}
Task<> add_between(Node& node, bool is_adder) {
  co_await store(node, 0, 1, 0);
  for (unsigned round = 0; round < 12; ++round) {
    co_await meet(node);
    co_await meet(node);
    Addition addition;
    if (is_adder) co_await node.modify(BlockId{0}, addition);
    co_await meet(node);
  }
}

bool own_operations_are_seen(std::uint64_t seed, InjectedBug bug) {
  Stage stage(near_ranks(seed, 2, bug), 1);
  bool wrong = false;
  stage.play(0, add_between(stage.node(0), true));
  stage.play(0, add_between(stage.node(0), false));
  stage.play(1, add_and_look(stage, stage.node(1), &wrong));
  stage.play(1, look(stage, stage.node(1)));
  const bool right = stage.ends_well() && !wrong;
  operations += stage.total(trace::Counter::direct_atomics);
  return right;
}

TEST(DirectLitmus, ARankSeesWhatItHasOperatedElsewhere) {
  operations = 0;
  EXPECT_EQ(worlds_that_go_wrong(worlds, own_operations_are_seen, InjectedBug::none), 0u);
  EXPECT_GT(operations, worlds);
}

TEST(DirectLitmus, CountsAreSeenByWhoeverLooks) {
  for (const Shape shape : {long_rounds, short_rounds}) {
    operations = 0;
    const auto counts = [shape](std::uint64_t seed, InjectedBug bug) {
      return counts_right(seed, bug, shape);
    };
    EXPECT_EQ(worlds_that_go_wrong(worlds, counts, InjectedBug::none), 0u);
    EXPECT_GT(operations, worlds);
  }
}

// Result: whether one of many worlds goes wrong.
bool is_found(InjectedBug bug, Shape shape) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    if (!counts_right(seed, bug, shape)) return true;
  }
  return false;
}

TEST(DirectLitmus, InjectedFaultsAreFound) {
  EXPECT_TRUE(is_found(InjectedBug::operated_beside_lock, long_rounds));
  EXPECT_TRUE(is_found(InjectedBug::operated_beside_lease, short_rounds));
  EXPECT_TRUE(is_found(InjectedBug::operated_on_leased, long_rounds));
  EXPECT_TRUE(is_found(InjectedBug::operated_untold, long_rounds));
}

}  // namespace
}  // namespace musubi::sim
