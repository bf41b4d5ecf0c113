// Several ranks that write parts of the same blocks between two barriers, or under a lock, as neighbours of
// one host or far from each other: changes are merged at the home, which stays
// (docs/decisions/many_writers.md).
#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t worlds = 500;
constexpr std::uint32_t nodes = 3;
constexpr std::uint64_t blocks = 3;
constexpr unsigned turns = 8;
constexpr LockId lock{0};

enum class Distance { near, far };

Configuration writers_of(std::uint64_t seed, InjectedBug bug, Distance distance) {
  Configuration configuration = hostile(seed, nodes);
  configuration.plain_flags = 0;
  configuration.model.local_pointer = distance == Distance::near;
  configuration.model.ranks_per_host = 0;
  configuration.bug = bug;
  return configuration;
}

struct Outcome {
  bool stale = false;
  std::uint64_t merges = 0;
};

// Word `rank` of each block is that rank's.
Task<> write_own_words(Stage& stage, Node& node, std::uint64_t turn) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    if (stage.cluster().world().random().below(4) == 0) continue;  // sometimes only one of them
    co_await store(node, block, turn, node.self().value);
  }
}

// Each rank checks the other ranks' words: they never go back, and a barrier brings the last turn.
Task<> write_between_barriers(Stage& stage, Node& node, std::vector<std::uint64_t>* written,
                              Outcome* outcome) {
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    for (std::uint64_t block = 0; block < blocks; ++block) {
      if (stage.cluster().world().random().below(4) == 0) continue;
      (*written)[block * nodes + node.self().value] = turn;
      co_await store(node, block, turn, node.self().value);
    }
    co_await meet(node);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      for (std::uint32_t rank = 0; rank < nodes; ++rank) {
        const std::uint64_t value = co_await load(node, block, rank);
        if (value != (*written)[block * nodes + rank]) outcome->stale = true;
      }
    }
    co_await meet(node);
  }
}

// A sum under a lock, next to words that each rank writes without it.
Task<> add_under_lock(Stage& stage, Node& node, std::uint64_t* sum, Outcome* outcome) {
  constexpr std::size_t sum_word = 7;
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    co_await write_own_words(stage, node, turn);
    co_await node.lock(lock);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t value = co_await load(node, block, sum_word);
      if (value != *sum) outcome->stale = true;
      co_await store(node, block, *sum + 1, sum_word);
    }
    ++*sum;
    co_await node.unlock(lock);
    co_await idle(stage, 4000);
  }
}

Outcome outcome_of_barriers(std::uint64_t seed, InjectedBug bug, Distance distance) {
  Outcome outcome;
  Stage stage(writers_of(seed, bug, distance), blocks);
  std::vector<std::uint64_t> written(blocks * nodes);
  for (std::uint32_t rank = 0; rank < nodes; ++rank)
    stage.play(rank, write_between_barriers(stage, stage.node(rank), &written, &outcome));
  if (!stage.ends_well()) outcome.stale = true;
  outcome.merges = stage.total(Counter::home_merges);
  return outcome;
}

Outcome outcome_of_locks(std::uint64_t seed, InjectedBug bug, Distance distance) {
  Outcome outcome;
  Stage stage(writers_of(seed, bug, distance), blocks);
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank < nodes; ++rank)
    stage.play(rank, add_under_lock(stage, stage.node(rank), &sum, &outcome));
  if (!stage.ends_well()) outcome.stale = true;
  outcome.merges = stage.total(Counter::home_merges);
  return outcome;
}

// A rank releases by a lock its writes after a barrier, while other ranks still acquire at that barrier.
Task<> write_behind_barriers(Stage& stage, Node& node, Outcome* outcome) {
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    co_await meet(node);
    for (std::uint64_t store_count = 0; store_count < 3; ++store_count) {
      co_await write_own_words(stage, node, 10 * turn + store_count);
      co_await node.lock(lock);
      co_await node.unlock(lock);
    }
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t value = co_await load(node, block, node.self().value);
      if (value > 10 * turn + 2) outcome->stale = true;
    }
  }
}

Outcome outcome_behind_barriers(std::uint64_t seed, InjectedBug bug, Distance distance) {
  Configuration configuration = writers_of(seed, bug, distance);
  configuration.interruption = 80;
  Outcome outcome;
  Stage stage(configuration, blocks);
  for (std::uint32_t rank = 0; rank < nodes; ++rank)
    stage.play(rank, write_behind_barriers(stage, stage.node(rank), &outcome));
  if (!stage.ends_well()) outcome.stale = true;
  outcome.merges = stage.total(Counter::home_merges);
  return outcome;
}

using Scenario = Outcome(std::uint64_t seed, InjectedBug bug, Distance distance);

std::uint64_t worlds_that_go_stale(Scenario& scenario, InjectedBug bug, Distance distance) {
  std::uint64_t merges = 0;
  const auto goes_well = [&](std::uint64_t seed, InjectedBug injected) {
    const Outcome outcome = scenario(seed, injected, distance);
    merges += outcome.merges;
    return !outcome.stale;
  };
  const std::uint64_t wrong = worlds_that_go_wrong(worlds, goes_well, bug);
  EXPECT_GT(merges, worlds);  // otherwise the test shows nothing
  return wrong;
}

class WritersLitmus : public ::testing::TestWithParam<Distance> {};

TEST_P(WritersLitmus, NothingIsLostBetweenBarriers) {
  EXPECT_EQ(worlds_that_go_stale(outcome_of_barriers, InjectedBug::none, GetParam()), 0u);
  EXPECT_GT(worlds_that_go_stale(outcome_of_barriers, InjectedBug::home_program_left_out, GetParam()), 0u);
}

// A home at a barrier lets visitors merge as if none of its threads ran, so it must not leave before they
// have merged.
TEST_P(WritersLitmus, AHomeWaitsForItsVisitorsBeforeItsThreadsRun) {
  EXPECT_EQ(worlds_that_go_stale(outcome_behind_barriers, InjectedBug::none, GetParam()), 0u);
  EXPECT_DEATH(worlds_that_go_stale(outcome_behind_barriers, InjectedBug::home_leaves_visitor, GetParam()),
               "bytes that are exclusive have changed");
}

TEST(FarWritersLitmus, ACallIsAVisitorForWhomTheHomeWaits) {
  EXPECT_DEATH(worlds_that_go_stale(outcome_behind_barriers, InjectedBug::call_not_counted, Distance::far),
               "bytes that are exclusive have changed");
}

TEST_P(WritersLitmus, NothingIsLostUnderALock) {
  EXPECT_EQ(worlds_that_go_stale(outcome_of_locks, InjectedBug::none, GetParam()), 0u);
  EXPECT_GT(worlds_that_go_stale(outcome_of_locks, InjectedBug::home_program_left_out, GetParam()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Peers, WritersLitmus, ::testing::Values(Distance::near, Distance::far),
                         [](const auto& peers) { return peers.param == Distance::near ? "near" : "far"; });

// The home waits for a plain flag: it must see nothing new in open pages until it acquires.
constexpr std::uint64_t data_block = 1, flag_block = 0;

Task<> open_both(Node& node) {
  (void)co_await load(node, data_block);
  co_await store(node, flag_block, 3, 5);
}

Task<> store_data_then_flag(Stage& stage, Node& node) {
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    co_await node.lock(lock);
    co_await store(node, data_block, turn);
    co_await store(node, flag_block, turn);
    co_await node.unlock(lock);
    co_await idle(stage, 4000);
  }
}

Task<> look_at_flag_then_data(Stage& stage, Node& node, Outcome* outcome) {
  node.protocol().ordering().set_ordered(true);
  co_await node.protocol().ordering().end_of_unordered();
  for (unsigned look = 0; look < 12 * turns; ++look) {
    const std::uint64_t flag = co_await load(node, flag_block);
    const std::uint64_t data = co_await load(node, data_block);
    if (data < flag) outcome->stale = true;
    co_await idle(stage, 1000);
  }
}

Outcome outcome_of_flag(std::uint64_t seed, InjectedBug bug, Distance distance) {
  Outcome outcome;
  Configuration configuration = writers_of(seed, bug, distance);
  configuration.nodes = 2;
  Stage stage(configuration, 2);
  // Both have written the block of the flag, and its home is node 0.
  do_now(stage, stage.node(1), store(stage.node(1), flag_block, 0, 6));
  all_meet(stage);
  do_now(stage, stage.node(0), store(stage.node(0), flag_block, 2, 5));
  all_meet(stage);
  do_now(stage, stage.node(0), open_both(stage.node(0)));
  stage.play(0, look_at_flag_then_data(stage, stage.node(0), &outcome));
  stage.play(1, store_data_then_flag(stage, stage.node(1)));
  if (!stage.ends_well()) outcome.stale = true;
  return outcome;
}

TEST_P(WritersLitmus, AHomeThatWaitsForAFlagIsLeftAlone) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    EXPECT_FALSE(outcome_of_flag(seed, InjectedBug::none, GetParam()).stale) << "seed " << seed;
    wrong += outcome_of_flag(seed, InjectedBug::visitor_beside_order, GetParam()).stale;
  }
  EXPECT_GT(wrong, 0u);
}

// A far writer leaves its change at the home and keeps an older version. Then it acquires a version that lies
// between the two, from a rank which was home before the change: it must not read that rank's bytes.
Task<> write_under_lock(Node& node, std::uint64_t value, std::size_t word) {
  co_await node.lock(lock);
  co_await store(node, flag_block, value, word);
  co_await node.unlock(lock);
}
Task<> read_under_lock(Node& node, std::size_t word, std::uint64_t* value) {
  co_await node.lock(lock);
  *value = co_await load(node, flag_block, word);
  co_await node.unlock(lock);
}

Task<> write_alone(Node& node, std::uint64_t value, std::size_t word) {
  co_await store(node, flag_block, value, word);
  co_await node.protocol().release(coherence::Scope::everything(), false);
}

std::uint64_t read_after_own_change(InjectedBug bug) {
  Configuration configuration = calm(4);
  configuration.bug = bug;
  Stage stage(configuration, 1);
  Node& writer = stage.node(1);
  Node& home_before = stage.node(2);
  Node& home = stage.node(3);
  std::uint64_t value = 0;
  for (std::uint64_t turn = 1; turn <= 2; ++turn) {
    do_now(stage, home_before, write_alone(home_before, turn, 2));
    do_now(stage, writer, write_alone(writer, turn, 1));
    do_now(stage, stage.node(0), read_under_lock(stage.node(0), 1, &value));
  }
  do_now(stage, home_before, write_under_lock(home_before, 3, 2));
  do_now(stage, home, write_alone(home, 3, 3));
  const std::uint64_t merges_before = writer.counters().get(Counter::home_merges);
  do_now(stage, writer, write_alone(writer, 3, 1));
  EXPECT_EQ(writer.counters().get(Counter::home_merges) - merges_before, 1u);
  do_now(stage, writer, read_under_lock(writer, 1, &value));
  return value;
}

TEST(FarWritersLitmus, ARankReadsItsOwnChangeBeyondAnOlderNotice) {
  EXPECT_EQ(read_after_own_change(InjectedBug::none), 3u);
  EXPECT_EQ(read_after_own_change(InjectedBug::own_version_not_heard), 2u);
}

}  // namespace
}  // namespace musubi::sim
