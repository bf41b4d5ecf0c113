// Scenarios of conditions in many hostile worlds: no signal is lost, none is given twice, and a wait that
// expires consumes none.
#include "stage.h"

namespace musubi::sim {
namespace {

#ifdef MUSUBI_LITMUS_WORLDS
constexpr std::uint64_t worlds = MUSUBI_LITMUS_WORLDS;
#else
constexpr std::uint64_t worlds = 300;
#endif
constexpr std::uint64_t hunted_worlds = 2000;  // in which a fault must show
constexpr LockId the_lock{0};
constexpr ConditionId not_empty{0}, not_full{1};
constexpr std::uint32_t nodes = 4;

Configuration world_of_conditions(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, nodes);
  configuration.locks = 2;
  configuration.threads = 2;
  configuration.bug = bug;
  return configuration;
}

// A buffer of two items in shared memory. Block 0: their number; block 1: the items.
struct Trade {
  std::uint64_t made = 0, used = 0;
  unsigned expired = 0;
  bool right = true;
};

Task<> make_items(Stage& stage, Node& node, unsigned items, Trade* trade) {
  for (unsigned i = 0; i < items; ++i) {
    co_await idle(stage, 2000);
    co_await node.lock(the_lock);
    std::uint64_t count = co_await load(node, 0);
    while (count == 2) {
      co_await node.wait(not_full, the_lock);
      count = co_await load(node, 0);
    }
    trade->right &= count < 2;
    const std::uint64_t item = ++trade->made;
    co_await store(node, 1, item, count);
    co_await store(node, 0, count + 1);
    const bool gives_back_first = stage.cluster().world().random().chance(50);
    if (gives_back_first) co_await node.unlock(the_lock);
    co_await node.conditions().signal(not_empty);
    if (!gives_back_first) co_await node.unlock(the_lock);
  }
}

Task<> use_items(Stage& stage, Node& node, unsigned items, Trade* trade) {
  for (unsigned i = 0; i < items; ++i) {
    co_await idle(stage, 2000);
    co_await node.lock(the_lock);
    std::uint64_t count = co_await load(node, 0);
    while (count == 0) {
      const std::uint64_t patience_ns =
          stage.cluster().world().random().chance(50) ? 0 : stage.cluster().world().random().below(20'000);
      const bool chosen = co_await node.wait(not_empty, the_lock, patience_ns);
      if (!chosen) ++trade->expired;
      count = co_await load(node, 0);
    }
    const std::uint64_t item = co_await load(node, 1, count - 1);
    trade->right &= count <= 2 && item != 0 && item <= trade->made;
    trade->used += item;
    co_await store(node, 1, 0, count - 1);
    co_await store(node, 0, count - 1);
    co_await node.unlock(the_lock);
    co_await node.conditions().signal(not_full);
  }
}

bool all_is_traded(std::uint64_t seed, InjectedBug bug, Trade& trade) {
  Stage stage(world_of_conditions(seed, bug), 2);
  for (std::uint32_t rank = 0; rank < nodes; ++rank) {
    stage.play(rank, make_items(stage, stage.node(rank), 6, &trade));
    stage.play(nodes - 1 - rank, use_items(stage, stage.node(nodes - 1 - rank), 6, &trade));
  }
  const std::uint64_t items = 6 * nodes;
  return stage.ends_well(20'000'000) && trade.right && trade.made == items &&
         trade.used == items * (items + 1) / 2;
}

TEST(ConditionsLitmus, EverythingMadeIsUsed) {
  unsigned expired = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Trade trade;
    ASSERT_TRUE(all_is_traded(seed, InjectedBug::none, trade)) << "seed " << seed;
    expired += trade.expired;
  }
  EXPECT_GT(expired, worlds);
}

TEST(ConditionsLitmus, AThreadThatJoinsLateIsFound) {
  std::uint64_t seed = 1;
  for (Trade trade; seed <= hunted_worlds && all_is_traded(seed, InjectedBug::condition_joined_late, trade);
       ++seed) {
    trade = {};
  }
  EXPECT_LE(seed, hunted_worlds);
}

// One signal for two threads, of which the first has little patience: either it is chosen, and then returns
// that, or the other thread is.
struct Chosen {
  unsigned waiting = 0;
  bool first = false, second = false;
};
Task<> wait_in_turn(Node& node, std::uint64_t patience_ns, Chosen* chosen, bool* mine) {
  co_await node.lock(the_lock);
  ++chosen->waiting;
  *mine = co_await node.wait(not_empty, the_lock, patience_ns);
  if (*mine) co_await node.conditions().signal(not_empty);
  co_await node.unlock(the_lock);
}
Task<> signal_once(Stage& stage, Node& node, std::uint64_t after_ns, const Chosen* chosen) {
  co_await fabric::sim::think(after_ns);
  for (bool both = false; !both; co_await idle(stage, 1000)) {
    co_await node.lock(the_lock);
    both = chosen->waiting == 2;
    co_await node.unlock(the_lock);
  }
  co_await node.conditions().signal(not_empty);
}
bool signal_arrives(std::uint64_t seed, InjectedBug bug, unsigned* expired) {
  Stage stage(world_of_conditions(seed, bug), 1);
  Chosen chosen;
  Random random(seed);
  stage.play(1, wait_in_turn(stage.node(1), 1 + random.below(60'000), &chosen, &chosen.first));
  stage.play(2, wait_in_turn(stage.node(2), 0, &chosen, &chosen.second));
  stage.play(0, signal_once(stage, stage.node(0), random.below(40'000), &chosen));
  const bool ended = stage.ends_well();
  if (!chosen.first) ++*expired;
  return ended && chosen.second;
}

TEST(ConditionsLitmus, AWaitThatExpiresTakesNoSignalWithIt) {
  unsigned expired = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    ASSERT_TRUE(signal_arrives(seed, InjectedBug::none, &expired)) << "seed " << seed;
  }
  EXPECT_GT(expired, worlds / 20);
  EXPECT_LT(expired, worlds - worlds / 20);
  std::uint64_t seed = 1;
  while (seed <= 100 && signal_arrives(seed, InjectedBug::late_signal_dropped, &expired)) ++seed;
  EXPECT_LE(seed, hunted_worlds);
}

Task<> wait_alone(Node& node, sync::Conditions::Wait* wait, bool* chosen) {
  co_await node.conditions().join(not_empty, *wait);
  *chosen = co_await node.conditions().await(not_empty, *wait);
}
Task<> tell(Node& node, bool all) {
  if (all) {
    co_await node.conditions().broadcast(not_empty);
  } else {
    co_await node.conditions().signal(not_empty);
  }
}

TEST(ConditionsLitmus, EachThreadThatIsWokenCostsOneMessage) {
  Configuration configuration = calm(5);
  configuration.locks = 2;
  Stage stage(configuration, 1);
  const auto messages = [&stage] { return stage.total(trace::Counter::messages); };
  const auto operations = [&stage] { return stage.total(trace::Counter::remote_operations); };
  stage.play(1, tell(stage.node(1), true));
  ASSERT_TRUE(stage.ends_well());
  EXPECT_EQ(operations(), 1u) << "no thread waits: one read";
  EXPECT_EQ(messages(), 0u);
  sync::Conditions::Wait waits[5];
  bool chosen[5]{};
  for (std::uint32_t rank = 1; rank < 5; ++rank) {
    stage.play(rank, wait_alone(stage.node(rank), &waits[rank], &chosen[rank]));
    ASSERT_FALSE(stage.ends_well());
  }
  const std::uint64_t before = messages();
  stage.play(0, tell(stage.node(0), false));
  ASSERT_FALSE(stage.ends_well());
  EXPECT_EQ(messages() - before, 1u);
  EXPECT_TRUE(chosen[1] && !chosen[2] && !chosen[3] && !chosen[4]) << "the longest waits first";
  stage.play(0, tell(stage.node(0), true));
  ASSERT_TRUE(stage.ends_well());
  EXPECT_EQ(messages() - before, 4u);
  EXPECT_TRUE(chosen[2] && chosen[3] && chosen[4]);
}

}  // namespace
}  // namespace musubi::sim
