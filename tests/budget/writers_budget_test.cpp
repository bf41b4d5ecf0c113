// Costs of blocks with several writers (docs/decisions/many_writers.md).
#include <gtest/gtest.h>

#include <array>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block = 0, turns = 10, turns_before = 4;
constexpr std::size_t page = 4096;

Configuration neighbours(std::uint32_t nodes, bool local_pointer) {
  Configuration configuration = calm(nodes);
  configuration.model.local_pointer = local_pointer;
  return configuration;
}

Task<> write_and_meet(Stage& stage, Node& node, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t turn = from; turn < to; ++turn) {
    co_await store(node, block, turn + 1, node.self().value);
    co_await meet(node);
    for (std::uint32_t rank = 0; rank < stage.cluster().size(); ++rank) {
      const std::uint64_t value = co_await load(node, block, rank);
      EXPECT_EQ(value, turn + 1);
    }
    co_await meet(node);
  }
}

Task<> read(Node& node) {
  (void)co_await load(node, block);
}

// The costs of all nodes in `turns` turns, once they know each other's habits.
std::uint64_t spent_by_writers(Stage& stage, std::uint32_t writers, Counter counter) {
  const auto play = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint32_t rank = 0; rank < writers; ++rank)
      stage.play(rank, write_and_meet(stage, stage.node(rank), from, to));
    stage.finish();
  };
  play(0, turns_before);
  const std::uint64_t before = stage.total(counter);
  play(turns_before, turns_before + turns);
  return stage.total(counter) - before;
}

std::uint64_t spent(std::uint32_t writers, bool local_pointer, Counter counter) {
  Stage stage(neighbours(writers, local_pointer), 1);
  return spent_by_writers(stage, writers, counter);
}

TEST(WritersBudget, TheHomeStaysAndTheOtherMergesThereOncePerBarrier) {
  EXPECT_EQ(spent(2, true, Counter::home_migrations), 0u);
  EXPECT_EQ(spent(2, true, Counter::home_merges), turns);
  EXPECT_EQ(spent(2, true, Counter::read_faults), 0u);
  EXPECT_EQ(spent(2, true, Counter::write_faults), 0u);
  EXPECT_LE(spent(2, true, Counter::fetches), turns);  // by the rank that merged first
}

TEST(WritersBudget, OfFourWritersThreeMergeAtTheHome) {
  EXPECT_EQ(spent(4, true, Counter::home_migrations), 0u);
  EXPECT_EQ(spent(4, true, Counter::home_merges), 3 * turns);
}

TEST(WritersBudget, WithoutAShareOfFirstChangesEachWriterBecomesTheHome) {
  Configuration configuration = neighbours(2, false);
  configuration.protocol.first_changes_share = 0;
  Stage stage(configuration, 1);
  EXPECT_GE(spent_by_writers(stage, 2, Counter::home_migrations), turns);
  EXPECT_EQ(stage.total(Counter::home_merges), 0u);
}

TEST(WritersBudget, FarWritersSendTheirChangesInOneTrip) {
  EXPECT_EQ(spent(2, false, Counter::home_migrations), 0u);
  EXPECT_EQ(spent(2, false, Counter::home_merges), turns);
  // The changes of one rank, and a prefetch of the home's changes.
  EXPECT_EQ(spent(2, false, Counter::remote_operations), 2 * turns);
  EXPECT_EQ(spent(2, false, Counter::read_faults), 0u);
  EXPECT_EQ(spent(4, false, Counter::home_migrations), 0u);
  EXPECT_EQ(spent(4, false, Counter::home_merges), 3 * turns);
}

Task<> write_and_meet_once(Node& node) {
  co_await store(node, block, 1, node.self().value);
  co_await meet(node);
}

// The first writes move the home through all ranks, and leave a chain of as many links. Later releases find
// its end.
TEST(WritersBudget, FarWritersFindAHomeThatHasMovedThroughAllRanks) {
  constexpr std::uint32_t writers = 16;
  Stage stage(neighbours(writers, false), 1, page);
  for (std::uint32_t rank = 0; rank < writers; ++rank)
    stage.play(rank, write_and_meet_once(stage.node(rank)));
  stage.finish();
  EXPECT_LE(stage.total(Counter::home_migrations), writers - 1u);
  EXPECT_GE(stage.total(Counter::home_merges), writers - 2u);
}

// Not the block, but a word in a block of two pages, and the size of a call.
TEST(WritersBudget, AFarWriterSendsWhatItHasChanged) {
  constexpr std::size_t large = 8192;
  Stage stage(neighbours(3, false), 1, large);
  Node& writer = stage.node(2);
  const auto write = [&](Node& node, std::uint64_t value, std::size_t words) {
    for (std::size_t word = 0; word < words; ++word)
      do_now(stage, node, store(node, block, value, 64 * node.self().value + word));
    do_now(stage, node, node.protocol().release(coherence::Scope::everything(), false));
  };
  for (std::uint64_t turn = 1; turn <= turns_before; ++turn) {
    write(stage.node(1), turn, 1);  // the home, in the end
    write(writer, turn, 1);
    do_now(stage, stage.node(0), read(stage.node(0)));
  }
  const std::uint64_t merges_before = writer.counters().get(Counter::home_merges);
  const auto spends = [&](std::uint64_t value, std::size_t words) {
    const std::uint64_t before = writer.counters().get(Counter::remote_bytes);
    write(writer, value, words);
    return writer.counters().get(Counter::remote_bytes) - before;
  };
  constexpr std::uint64_t of_a_call = 160;
  EXPECT_LE(spends(100, 1), of_a_call + 8);
  EXPECT_LE(spends(101, 60), of_a_call + 60 * 8);
  EXPECT_EQ(writer.counters().get(Counter::home_merges) - merges_before, 2u);
}

// A rank's first release takes the home along if it changes much, and leaves it in place if it changes
// little.
TEST(WritersBudget, AFarHomeStaysAtTheFirstReleaseOfLittle) {
  constexpr std::size_t large = 8192, words = large / 8;
  const auto moved_by = [&](std::size_t words_changed) {
    Stage stage(neighbours(3, false), 1, large);
    const auto write = [&](Node& node, std::uint64_t value, std::size_t count) -> Task<> {
      for (std::size_t word = 0; word < count; ++word) co_await store(node, block, value + word, word);
      co_await node.protocol().release(coherence::Scope::everything(), false);
    };
    do_now(stage, stage.node(0), write(stage.node(0), 1, words));
    do_now(stage, stage.node(2), read(stage.node(2)));
    do_now(stage, stage.node(0), write(stage.node(0), 2, words));
    do_now(stage, stage.node(2), read(stage.node(2)));
    do_now(stage, stage.node(1), read(stage.node(1)));
    const std::uint64_t before = stage.total(Counter::home_migrations);
    do_now(stage, stage.node(1), write(stage.node(1), 3, words_changed));
    return stage.total(Counter::home_migrations) - before;
  };
  EXPECT_EQ(moved_by(words / 32), 0u);
  EXPECT_EQ(moved_by(words / 8), 1u);
}

// Then less data travels at each barrier: only the other part.
TEST(WritersBudget, TheHomeComesToTheFarWriterOfMost) {
  constexpr std::size_t large = 8192, words = large / 8;
  constexpr std::uint64_t every_byte = 0x0101010101010101;
  const auto merges_by_parts = [&](std::size_t words_of_home) {
    Stage stage(neighbours(2, false), 1, large);
    const auto write = [&](Node& node, std::size_t from, std::size_t to) -> Task<> {
      for (std::uint64_t turn = 1; turn <= turns; ++turn) {
        for (std::size_t word = from; word < to; ++word) co_await store(node, block, turn * every_byte, word);
        co_await meet(node);
      }
    };
    stage.play(0, write(stage.node(0), 0, words_of_home));
    stage.play(1, write(stage.node(1), words_of_home, words));
    stage.finish();
    return std::array{stage.node(0).counters().get(Counter::home_merges),
                      stage.node(1).counters().get(Counter::home_merges)};
  };
  for (const std::size_t words_of_first : {words / 4, words - words / 4}) {
    const bool first_writes_most = words_of_first > words / 2;
    const std::array<std::uint64_t, 2> merges = merges_by_parts(words_of_first);
    EXPECT_LE(merges[first_writes_most ? 0 : 1], 1u);
    EXPECT_GE(merges[first_writes_most ? 1 : 0], turns - 3);
  }
}

// The writer whose copy it has read, not the block's initial home.
TEST(WritersBudget, AFarWriterFindsTheHomeWhereItsCopyCameFrom) {
  constexpr std::size_t large = 8192, words = large / 8;
  Stage stage(neighbours(3, false), 1, large);
  const auto meet_all = [&] {
    for (std::uint32_t rank = 0; rank < 3; ++rank) stage.play(rank, meet(stage.node(rank)));
    stage.finish();
  };
  const auto write = [&](Node& node, std::size_t count) -> Task<> {
    for (std::size_t word = 0; word < count; ++word)
      co_await store(node, block, node.self().value << 16 | (word + 1), word);
    co_await node.protocol().release(coherence::Scope::everything(), false);
  };
  Node& writer = stage.node(2);
  do_now(stage, writer, read(writer));
  do_now(stage, stage.node(1), write(stage.node(1), words));  // the home goes there
  meet_all();
  do_now(stage, writer, read(writer));
  const std::uint64_t before = writer.counters().get(Counter::remote_operations);
  do_now(stage, writer, write(writer, 1));
  EXPECT_EQ(writer.counters().get(Counter::home_merges), 1u);
  EXPECT_EQ(writer.counters().get(Counter::remote_operations) - before, 1u);
}

// More than fits one message.
TEST(WritersBudget, LargeChangesGoInSeveralMessages) {
  constexpr std::size_t large = 65536, words = large / 8;
  Stage stage(neighbours(3, false), 1, large);
  const auto write = [&](Node& node, std::uint64_t value, std::size_t from, std::size_t to) -> Task<> {
    for (std::size_t word = from; word < to; ++word) co_await store(node, block, value, word);
    co_await node.protocol().release(coherence::Scope::everything(), false);
  };
  Node& home = stage.node(1);
  Node& writer = stage.node(0);
  for (std::uint64_t turn = 1; turn <= turns_before; ++turn) {
    do_now(stage, home, write(home, turn, 0, 8));
    do_now(stage, writer, write(writer, turn, words / 2, words));
    do_now(stage, stage.node(2), read(stage.node(2)));
  }
  const std::uint64_t merges_before = writer.counters().get(Counter::home_merges);
  const std::uint64_t before = writer.counters().get(Counter::remote_operations);
  do_now(stage, writer, write(writer, 100, words / 2, words));
  EXPECT_EQ(writer.counters().get(Counter::home_merges) - merges_before, 1u);
  EXPECT_EQ(writer.counters().get(Counter::remote_operations) - before, 3u);
  for (const std::size_t word : {words / 2, 5 * words / 8, words - 1}) {
    const auto check = [&]() -> Task<> {
      const std::uint64_t value = co_await load(home, block, word);
      EXPECT_EQ(value, 100u);
    };
    do_now(stage, home, check());
  }
}

// The home follows the only writer, after some releases.
TEST(WritersBudget, ALoneWriterGetsTheHome) {
  Stage stage(neighbours(2, true), 1);
  spent_by_writers(stage, 2, Counter::home_merges);
  const std::uint64_t merges = stage.total(Counter::home_merges);
  const std::uint64_t migrations = stage.total(Counter::home_migrations);
  for (std::uint32_t writer : {0u, 1u}) {
    for (std::uint64_t turn = 0; turn < 8; ++turn) {
      do_now(stage, stage.node(writer), store(stage.node(writer), block, 100 + turn, writer));
      all_meet(stage);
    }
  }
  EXPECT_GE(stage.total(Counter::home_migrations) - migrations, 1u);
  EXPECT_LE(stage.total(Counter::home_migrations) - migrations, 2u);
  EXPECT_LE(stage.total(Counter::home_merges) - merges, 2u * 5);
}

}  // namespace
}  // namespace musubi::sim
