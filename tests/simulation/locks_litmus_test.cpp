// Scenarios of locks: events between the checks of ranks that take them, in many hostile worlds.
#include <vector>

#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 300;
constexpr LockId first{0}, second{1};

Task<> hold_one_and_try_the_other(Stage& stage, Node& node, unsigned* taken) {
  for (unsigned i = 0; i < 20; ++i) {
    co_await idle(stage, 3000);
    co_await node.locks().lock(first);
    co_await idle(stage, 3000);
    const bool got = co_await node.locks().try_lock(second);
    if (got) {
      ++*taken;
      co_await idle(stage, 3000);
      co_await node.unlock(second);
    }
    co_await node.unlock(first);
  }
}

Task<> take_both(Stage& stage, Node& node) {
  for (unsigned i = 0; i < 20; ++i) {
    co_await idle(stage, 6000);
    co_await node.locks().lock(second);
    co_await node.locks().lock(first);
    co_await node.unlock(first);
    co_await node.unlock(second);
  }
}

// The order of taking differs, which is right as long as one side only tries.
TEST(LocksLitmus, ATryWaitsForNobody) {
  unsigned taken = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.locks = 2;
    configuration.lock_uses = seed % 3;
    Stage stage(configuration, 1);
    stage.play(0, hold_one_and_try_the_other(stage, stage.node(0), &taken));
    stage.play(1, take_both(stage, stage.node(1)));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
  }
  EXPECT_GT(taken, worlds);
}

struct Count {
  std::uint64_t value = 0;
  unsigned inside = 0;
  bool shared = false;
};

Task<> count_by_trying(Stage& stage, Node& node, Count* count) {
  for (unsigned done = 0; done < 10;) {
    co_await idle(stage, 2000);
    const bool got = co_await node.locks().try_lock(first);
    if (!got) continue;
    ++done;
    count->shared |= ++count->inside != 1;
    const std::uint64_t value = co_await load(node, 0);
    co_await idle(stage, 500);
    co_await store(node, 0, value + 1);
    --count->inside;
    co_await node.unlock(first);
  }
}

Task<> count_by_waiting(Stage& stage, Node& node, Count* count) {
  for (unsigned i = 0; i < 10; ++i) {
    co_await idle(stage, 4000);
    co_await node.locks().lock(first);
    count->shared |= ++count->inside != 1;
    const std::uint64_t value = co_await load(node, 0);
    co_await store(node, 0, value + 1);
    --count->inside;
    co_await node.unlock(first);
  }
}

Task<> read_count(Node& node, Count* count) {
  co_await node.locks().lock(first);
  count->value = co_await load(node, 0);
  co_await node.unlock(first);
}

// Some threads try and other threads wait, on all ranks and in several threads of one: no waiter is lost in
// the queue, no two hold the lock at once, and each sees the writes of the previous holder.
TEST(LocksLitmus, ThoseWhoTryAndThoseWhoWaitExcludeEachOther) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 4);
    configuration.locks = 1;
    configuration.lock_uses = seed % 3;
    configuration.threads = 2;
    Stage stage(configuration, 1);
    Count count;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      stage.play(rank, count_by_trying(stage, stage.node(rank), &count));
      if (rank < 2) stage.play(rank, count_by_waiting(stage, stage.node(rank), &count));
    }
    ASSERT_NO_FATAL_FAILURE(stage.finish(20'000'000));
    do_now(stage, stage.node(seed % 4), read_count(stage.node(seed % 4), &count));
    ASSERT_FALSE(count.shared) << "seed " << seed;
    ASSERT_EQ(count.value, 60u) << "seed " << seed;
  }
}

// ---- locks that stay with a rank until another rank wants them ----

Task<> use_often(Stage& stage, Node& node, unsigned times, bool* ended) {
  for (unsigned i = 0; i < times; ++i) {
    co_await node.lock(first);
    const std::uint64_t value = co_await load(node, 0);
    co_await store(node, 0, value + 1);
    co_await node.unlock(first);
  }
  co_await idle(stage, 1000);
  *ended = true;
}

// The rank that keeps the lock makes no more calls. The other rank waits, or tries.
Task<> use_afterwards(Stage& stage, Node& node, const bool* others_ended, bool tries, std::uint64_t* value) {
  while (!*others_ended) co_await idle(stage, 2000);
  if (tries) {
    const bool taken = co_await node.try_lock(first);
    EXPECT_TRUE(taken) << "no rank has the lock";
    if (!taken) co_return;
  } else {
    co_await node.lock(first);
  }
  *value = co_await load(node, 0);
  co_await node.unlock(first);
}

TEST(LocksLitmus, ALockThatStayedComesWithAllThatWasWrittenUnderIt) {
  std::uint64_t stayed = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.locks = 1;
    configuration.lock_uses = 2;
    configuration.plain_flags = 0;
    Stage stage(configuration, 1);
    bool ended = false;
    std::uint64_t value = 0;
    stage.play(1, use_often(stage, stage.node(1), 6, &ended));
    stage.play(2, use_afterwards(stage, stage.node(2), &ended, seed % 2 == 0, &value));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(value, 6u) << "seed " << seed;
    stayed += stage.total(trace::Counter::kept_locks);
  }
  EXPECT_EQ(stayed, 5 * worlds);
}

// ---- notices that are piggy-backed on a grant ----
//
// Ranks near and far pass a table on under one lock, for which some wait nearly always. Each reads all of it
// and changes a part, so that a rank's knowledge of other ranks differs from rank to rank.

struct Table {
  std::vector<std::uint64_t> values;
  bool stale = false;
};

Task<> hand_table_on(Stage& stage, Node& node, Table* table, std::uint64_t changed) {
  const std::uint64_t blocks = table->values.size();
  for (unsigned i = 0; i < 8; ++i) {
    co_await idle(stage, 3000 * (1 + node.self().value));
    co_await node.lock(first);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t value = co_await load(node, block);
      table->stale |= value != table->values[block];
    }
    const std::uint64_t begin = stage.cluster().world().random().below(blocks);
    for (std::uint64_t k = 0; k < changed; ++k) {
      const std::uint64_t block = (begin + k) % blocks;
      co_await store(node, block, ++table->values[block]);
    }
    co_await node.unlock(first);
  }
}

bool table_is_seen(std::uint64_t seed, InjectedBug bug, std::uint64_t blocks, std::uint64_t changed) {
  Configuration configuration = hostile(seed, 4);
  configuration.locks = 1;
  configuration.lock_uses = seed % 2;
  configuration.plain_flags = 0;
  configuration.model.local_pointer = seed % 3 != 0;
  configuration.model.ranks_per_host = static_cast<std::uint32_t>(seed % 3);
  configuration.protocol.signature_notices_max = 1024;
  configuration.bug = bug;
  Stage stage(configuration, blocks);
  Table table;
  table.values.resize(blocks);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    stage.play(rank, hand_table_on(stage, stage.node(rank), &table, changed));
  }
  return stage.ends_well(20'000'000) && !table.stale;
}

bool small_table_is_seen(std::uint64_t seed, InjectedBug bug) {
  return table_is_seen(seed, bug, 6, 1);
}

// Most of it is new to each, and does not fit a grant.
bool large_table_is_seen(std::uint64_t seed, InjectedBug bug) {
  return table_is_seen(seed, bug, 90, 70);
}

TEST(LocksLitmus, AGrantTellsAllThatItsTakerDoesNotKnow) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, small_table_is_seen, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, small_table_is_seen, InjectedBug::news_for_another), 0u);
}

TEST(LocksLitmus, AGrantTellsAllOrNothing) {
  EXPECT_EQ(worlds_that_go_wrong(worlds / 6, large_table_is_seen, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds / 6, large_table_is_seen, InjectedBug::news_in_part), 0u);
}

}  // namespace
}  // namespace musubi::sim
