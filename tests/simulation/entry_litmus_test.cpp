// The policy `entry`: the words bound to a lock, the data that travel with it, the data that a barrier makes
// consistent. In many hostile worlds, and with exact counts in a calm one.
#include <array>

#include "coherence/entry/entry_consistency.h"
#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t worlds = 100;  // seeds per scenario
constexpr LockId lock_a{0}, lock_b{1};

Configuration under_entry(Configuration c) {
  c.policy = Policy::entry;
  c.locks = 2;
  c.unused_barriers = 0;
  return c;
}
Configuration hostile_entry(std::uint64_t seed, std::uint32_t nodes) {
  Configuration c = under_entry(hostile(seed, nodes));
  c.unused_barriers = seed % 3;
  return c;
}

Task<> take(Node& node, LockId lock) {
  return node.lock(lock);
}
Task<> give(Node& node, LockId lock) {
  return node.unlock(lock);
}
Task<> store_under(Node& node, LockId lock, std::uint64_t block, std::uint64_t value, std::size_t index = 0) {
  co_await take(node, lock);
  co_await store(node, block, value, index);
  co_await give(node, lock);
}
Task<> expect_word(Node& node, std::uint64_t value, std::uint64_t block, std::size_t index = 0) {
  const std::uint64_t found = co_await load(node, block, index);
  EXPECT_EQ(found, value) << "node " << node.self().value << ", block " << block << ", word " << index;
}
Task<> expect_under(Node& node, LockId lock, std::uint64_t value, std::uint64_t block,
                    std::size_t index = 0) {
  co_await take(node, lock);
  co_await expect_word(node, value, block, index);
  co_await give(node, lock);
}

// The scenario in many worlds: `play` runs one step after the other, each to its end.
template <class Play>
void in_hostile_worlds(std::uint32_t nodes, std::uint64_t blocks, Play play) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Stage stage(hostile_entry(seed, nodes), blocks);
    play(stage);
    if (testing::Test::HasFailure()) return;
  }
}

// ---- figure 5: writes before the lock was taken are not bound to it ----

Task<> write_a_then_b_under_lock(Node& node) {
  co_await store(node, 0, 1);
  co_await store_under(node, lock_a, 1, 2);
}

TEST(EntryLitmus, WithTheLockComesWhatWasWrittenUnderIt) {
  in_hostile_worlds(2, 2, [](Stage& stage) {
    do_now(stage, stage.node(0), write_a_then_b_under_lock(stage.node(0)));
    do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 2, 1));
  });
}

TEST(EntryLitmus, NothingElseTravels) {
  Stage stage(under_entry(calm(2)), 2);
  for (unsigned i = 0; i < 3; ++i) {  // the lock stays here: writes in between are not bound, either
    do_now(stage, stage.node(0), write_a_then_b_under_lock(stage.node(0)));
    do_now(stage, stage.node(0), store(stage.node(0), 0, 100 + i, 1 + i));
  }
  do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 2, 1));
  EXPECT_EQ(stage.total(Counter::update_headers), 1u);
  EXPECT_EQ(stage.total(Counter::update_bytes), 1u);  // one byte of the word has changed
  all_meet(stage);
  do_now(stage, stage.node(1), expect_word(stage.node(1), 1, 0));
  do_now(stage, stage.node(1), expect_word(stage.node(1), 102, 0, 3));
}

// ---- figure 6: two locks, two data; the memories differ until the barrier ----

Task<> add_under(Node& node, LockId lock, std::uint64_t block, std::size_t index) {
  co_await take(node, lock);
  const std::uint64_t before = co_await load(node, block, index);
  co_await store(node, block, before + 1, index);
  co_await give(node, lock);
}
Task<> add_to_both(Stage& stage, Node& node, bool a_first, unsigned times) {
  for (unsigned i = 0; i < times; ++i) {
    co_await idle(stage, 3000);
    co_await add_under(node, a_first ? lock_a : lock_b, 0, a_first ? 0 : 1);
    co_await add_under(node, a_first ? lock_b : lock_a, 0, a_first ? 1 : 0);
  }
  co_await meet(node);
}

TEST(EntryLitmus, TwoLocksHandTheirDataOnInOnePage) {
  in_hostile_worlds(3, 1, [](Stage& stage) {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      stage.play(rank, add_to_both(stage, stage.node(rank), rank % 2 == 0, 4));
    stage.finish();
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      do_now(stage, stage.node(rank), expect_word(stage.node(rank), 12, 0, 0));
      do_now(stage, stage.node(rank), expect_word(stage.node(rank), 12, 0, 1));
    }
  });
}

// ---- chains ----

Task<> only_hold(Node& node, LockId lock) {
  co_await take(node, lock);
  co_await give(node, lock);
}

TEST(EntryLitmus, AHolderPassesOnWhatItReceived) {
  in_hostile_worlds(4, 4, [](Stage& stage) {
    do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 3, 10, 0));
    do_now(stage, stage.node(1), only_hold(stage.node(1), lock_a));  // never maps the page
    do_now(stage, stage.node(2), store_under(stage.node(2), lock_a, 3, 12, 2));
    do_now(stage, stage.node(3), expect_under(stage.node(3), lock_a, 10, 3, 0));
    do_now(stage, stage.node(3), expect_under(stage.node(3), lock_a, 12, 3, 2));
  });
}

// Remote operations of one handover of `words` words, every second word of a block.
std::uint64_t operations_of_handover(unsigned words) {
  Stage stage(under_entry(calm(2)), 2);
  for (unsigned i = 0; i < words; ++i) {
    do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 0, 0x0101010101010101u, 2 * i));
  }
  const std::uint64_t before = stage.total(Counter::remote_operations);
  do_now(stage, stage.node(1), only_hold(stage.node(1), lock_a));
  EXPECT_EQ(stage.total(Counter::update_headers), words);
  return stage.total(Counter::remote_operations) - before;
}

TEST(EntryLitmus, RunsSideBySideComeByOneGet) {
  EXPECT_EQ(operations_of_handover(4), operations_of_handover(1));
}

TEST(EntryLitmus, OnlyNewerUpdatesTravel) {
  Stage stage(under_entry(calm(2)), 2);
  for (unsigned i = 0; i < 4; ++i) {
    do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 0, 0x0101010101010101u, 2 * i));
  }
  do_now(stage, stage.node(1), only_hold(stage.node(1), lock_a));
  EXPECT_EQ(stage.total(Counter::update_headers), 4u);
  EXPECT_EQ(stage.total(Counter::update_bytes), 32u);
  for (unsigned turn = 0; turn < 6; ++turn) {
    Node& node = stage.node(turn % 2);
    do_now(stage, node, store_under(node, lock_a, 0, 0x0202020202020202u + turn * 0x0101010101010101u, 0));
  }
  do_now(stage, stage.node(0), expect_under(stage.node(0), lock_a, 0x0707070707070707u, 0, 0));
  EXPECT_EQ(stage.total(Counter::update_headers), 4u + 6u);
  EXPECT_EQ(stage.total(Counter::update_bytes), 32u + 48u);
}

// The page comes from its manager, and the data that came with the lock before stay on top of it.
Task<> hold_then_map(Node& node) {
  co_await take(node, lock_a);
  co_await expect_word(node, 7, 0, 0);
  co_await expect_word(node, 5, 0, 1);
  co_await give(node, lock_a);
}

TEST(EntryLitmus, UpdatesOfAPageThatIsNotMappedAreKept) {
  in_hostile_worlds(3, 1, [](Stage& stage) {
    do_now(stage, stage.node(0), store(stage.node(0), 0, 5, 1));
    all_meet(stage);
    do_now(stage, stage.node(1), store_under(stage.node(1), lock_a, 0, 7, 0));
    do_now(stage, stage.node(2), hold_then_map(stage.node(2)));
  });
}

// ---- nested, overlapping, bound to another lock ----

Task<> write_nested(Node& node) {
  co_await take(node, lock_a);
  co_await take(node, lock_b);
  co_await store(node, 0, 9);
  co_await give(node, lock_b);
  co_await give(node, lock_a);
}

TEST(EntryLitmus, WhatIsWrittenUnderTwoLocksIsBoundToBoth) {
  in_hostile_worlds(3, 2, [](Stage& stage) {
    do_now(stage, stage.node(0), write_nested(stage.node(0)));
    do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 9, 0));
    do_now(stage, stage.node(2), expect_under(stage.node(2), lock_b, 9, 0));
  });
}

Task<> write_overlapping(Node& node) {
  co_await take(node, lock_a);
  co_await store(node, 0, 1, 0);
  co_await take(node, lock_b);
  co_await store(node, 0, 2, 2);
  co_await give(node, lock_a);
  co_await store(node, 0, 3, 4);
  co_await give(node, lock_b);
}

TEST(EntryLitmus, OverlappingSectionsBindWhatEachOfThemSpans) {
  in_hostile_worlds(3, 1, [](Stage& stage) {
    do_now(stage, stage.node(0), write_overlapping(stage.node(0)));
    do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 1, 0, 0));
    do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 2, 0, 2));
    do_now(stage, stage.node(2), expect_under(stage.node(2), lock_b, 2, 0, 2));
    do_now(stage, stage.node(2), expect_under(stage.node(2), lock_b, 3, 0, 4));
  });
  Stage stage(under_entry(calm(3)), 1);
  do_now(stage, stage.node(0), write_overlapping(stage.node(0)));
  do_now(stage, stage.node(1), only_hold(stage.node(1), lock_a));
  EXPECT_EQ(stage.total(Counter::update_headers), 2u);
  do_now(stage, stage.node(2), only_hold(stage.node(2), lock_b));
  EXPECT_EQ(stage.total(Counter::update_headers), 4u);
}

TEST(EntryLitmus, WhatIsBoundToAnotherLockNowDoesNotGoBack) {
  in_hostile_worlds(3, 1, [](Stage& stage) {
    do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 0, 1));
    do_now(stage, stage.node(0), store_under(stage.node(0), lock_b, 0, 2));
    do_now(stage, stage.node(1), add_under(stage.node(1), lock_b, 0, 0));
    do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 3, 0));  // it has the newer value
    do_now(stage, stage.node(2), expect_under(stage.node(2), lock_b, 3, 0));
    all_meet(stage);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      do_now(stage, stage.node(rank), expect_word(stage.node(rank), 3, 0));
    }
  });
}

// ---- barriers ----

Task<> write_and_meet(Stage& stage, Node& node, std::uint64_t value, std::size_t index) {
  co_await idle(stage, 5000);
  co_await store(node, 0, value, index);
  co_await meet(node);
}

TEST(EntryLitmus, NeighboursInOnePageAllSeeAllAfterABarrier) {
  in_hostile_worlds(4, 1, [](Stage& stage) {
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
      for (std::uint32_t rank = 0; rank < 4; ++rank)
        stage.play(rank, write_and_meet(stage, stage.node(rank), turn * 100 + rank, rank));
      stage.finish();
      for (std::uint32_t reader = 0; reader < 4; ++reader) {
        const std::size_t word = (reader + turn) % 4;
        do_now(stage, stage.node(reader), expect_word(stage.node(reader), turn * 100 + word, 0, word));
      }
    }
  });
}

TEST(EntryLitmus, ABarrierEndsTheTimesOfLocks) {
  in_hostile_worlds(2, 2, [](Stage& stage) {
    for (std::uint64_t i = 1; i <= 3; ++i) {
      do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 0, i));
      do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, i, 0));
    }
    all_meet(stage);
    do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 0, 77));
    do_now(stage, stage.node(1), expect_under(stage.node(1), lock_a, 77, 0));
  });
  Stage stage(under_entry(calm(2)), 1);
  do_now(stage, stage.node(0), store_under(stage.node(0), lock_a, 0, 1));
  all_meet(stage);
  const std::uint64_t before = stage.total(Counter::update_headers);
  do_now(stage, stage.node(1), only_hold(stage.node(1), lock_a));
  EXPECT_EQ(stage.total(Counter::update_headers), before);  // the data are everywhere
}

// ---- pages ----

TEST(EntryLitmus, APageThatNobodyUsesIsUnmapped) {
  Configuration c = under_entry(calm(2));
  c.unused_barriers = 3;
  Stage stage(c, 1);
  do_now(stage, stage.node(1), expect_word(stage.node(1), 0, 0));
  const auto write = [&](std::uint64_t value) {
    do_now(stage, stage.node(0), store(stage.node(0), 0, value));
    all_meet(stage);
  };
  for (std::uint64_t i = 1; i <= 5; ++i) write(i);
  EXPECT_EQ(stage.total(Counter::unmapped_pages), 0u);
  do_now(stage, stage.node(1), expect_word(stage.node(1), 5, 0));
  EXPECT_EQ(stage.total(Counter::fetches), 1u);  // it was inaccessible, and kept up to date
  for (std::uint64_t i = 6; i <= 11; ++i) write(i);
  EXPECT_EQ(stage.total(Counter::unmapped_pages), 1u);
  const std::uint64_t updates = stage.total(Counter::update_headers);
  for (std::uint64_t i = 12; i <= 20; ++i) write(i);
  EXPECT_EQ(stage.total(Counter::update_headers), updates);  // node 1 gets no more updates
  do_now(stage, stage.node(1), expect_word(stage.node(1), 20, 0));
  EXPECT_EQ(stage.total(Counter::fetches), 2u);
}

TEST(EntryLitmus, AnotherRankManagesThePageFromTheNextBarrierOn) {
  in_hostile_worlds(4, 1, [](Stage& stage) {
    do_now(stage, stage.node(1), store(stage.node(1), 0, 5));
    stage.node(3).page_managers()->change_manager({BlockId{0}, 1}, Rank{2});
    all_meet(stage);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      do_now(stage, stage.node(rank), expect_word(stage.node(rank), 5, 0));
    }
    do_now(stage, stage.node(0), store(stage.node(0), 0, 6));
    stage.node(0).page_managers()->change_manager({BlockId{0}, 1}, Rank{1});
    stage.node(2).page_managers()->change_manager({BlockId{0}, 1}, Rank{3});  // the manager decides
    all_meet(stage);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      do_now(stage, stage.node(rank), expect_word(stage.node(rank), 6, 0));
    }
  });
  Stage stage(under_entry(calm(3)), 1);
  stage.node(0).page_managers()->change_manager({BlockId{0}, 1}, Rank{2});
  all_meet(stage);
  EXPECT_EQ(stage.total(Counter::fetches), 1u);
  do_now(stage, stage.node(2), store(stage.node(2), 0, 8));
  EXPECT_EQ(stage.total(Counter::fetches), 1u);  // the new manager has it
  all_meet(stage);
  EXPECT_EQ(stage.total(Counter::update_headers), 1u);  // the old manager still has a copy
}

// Lists of several ranks arrive in any order.
TEST(EntryLitmus, AllRanksFindTheSameManagerAmongMany) {
  in_hostile_worlds(4, 2, [](Stage& stage) {
    for (std::uint64_t turn = 1; turn <= 3; ++turn) {
      for (std::uint32_t asker = 0; asker < 4; ++asker) {
        for (std::uint32_t i = 0; i < 10; ++i) {
          const Rank manager{(asker + i + static_cast<std::uint32_t>(turn)) % 4};
          stage.node(asker).page_managers()->change_manager({BlockId{0}, 2}, manager);
        }
      }
      all_meet(stage);
      const auto writer = static_cast<std::uint32_t>(turn % 4);
      do_now(stage, stage.node(writer), store(stage.node(writer), 0, turn));
      all_meet(stage);
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        do_now(stage, stage.node(rank), expect_word(stage.node(rank), turn, 0));
      }
    }
  });
}

// ---- elements (figures 10 and 16) ----

vm::Space counters_space(std::uint32_t element_bytes) {
  vm::Space space(2);
  vm::Segment segment;
  segment.base = 0x10000;
  segment.block_bytes = 512;
  segment.bytes = 512;
  segment.element_bytes = element_bytes;
  space.add(segment);
  return space;
}

struct Received {
  std::uint64_t headers, bytes;
  bool operator==(const Received&) const = default;
};

// By the other rank, for 100 integers that were all incremented.
Received received(std::uint32_t element_bytes) {
  Cluster cluster(under_entry(calm(2)), counters_space(element_bytes));
  std::vector<Task<>> tasks;
  const auto play = [&](Node& node, Task<> task) {
    tasks.push_back(std::move(task));
    tasks.back().start(node.add_thread(), nullptr);
    EXPECT_TRUE(cluster.world().run(1'000'000) && tasks.back().done());
  };
  play(cluster.node(0), take(cluster.node(0), lock_a));
  for (std::size_t i = 0; i < 100; ++i) {
    static const std::uint32_t one = 1;
    play(cluster.node(0), cluster.node(0).write(BlockId{0}, i * 4, std::as_bytes(std::span{&one, 1})));
  }
  play(cluster.node(0), give(cluster.node(0), lock_a));
  play(cluster.node(1), only_hold(cluster.node(1), lock_a));
  return {cluster.total(Counter::update_headers), cluster.total(Counter::update_bytes)};
}

TEST(EntryLitmus, WholeElementsSaveHeaders) {
  EXPECT_EQ(received(0), (Received{100, 100}));
  EXPECT_EQ(received(4), (Received{1, 400}));
  EXPECT_EQ(received(12), (Received{1, 408}));  // the last piece has only one changed integer
}

}  // namespace
}  // namespace musubi::sim
