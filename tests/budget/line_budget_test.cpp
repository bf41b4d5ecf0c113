// The bytes that a reader receives of a block in which little has changed (docs/decisions/readers.md).
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::size_t block_bytes = 32768, words = block_bytes / 8, line_bytes = 64;
constexpr std::uint64_t few_bytes = 512;  // including requests and notices

Configuration job(std::uint32_t nodes) {
  Configuration configuration = calm(nodes);
  return configuration;
}

Task<> release(Node& node) {
  co_await node.protocol().release(coherence::Scope::everything(), false);
}
Task<> acquire_clock(Node& node, std::uint64_t time) {
  co_await node.protocol().acquire_clock(LogicalTime{time});
}
Task<> expect(Node& node, std::uint64_t value, std::size_t word) {
  const std::uint64_t found = co_await load(node, 0, word);
  EXPECT_EQ(found, value) << "word " << word;
}

// Writes words [from, to) of block 0, and releases them.
void write(Stage& stage, Node& node, std::uint64_t value, std::size_t from, std::size_t to) {
  for (std::size_t word = from; word < to; ++word) do_now(stage, node, store(node, 0, value, word));
  do_now(stage, node, release(node));
}

// Lets the reader acquire the release, without a notice, and read a word.
void read_after_lapse(Stage& stage, Node& from, Node& reader, std::uint64_t value, std::size_t word) {
  do_now(stage, reader, acquire_clock(reader, from.migrating()->clock().value));
  do_now(stage, reader, expect(reader, value, word));
}

// The home learns of the reader: its version is published, with a lease.
void let_read(Stage& stage, Node& home, Node& reader) {
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    write(stage, home, turn, 0, words);
    read_after_lapse(stage, home, reader, turn, 0);
  }
}

std::uint64_t bytes_for(Node& reader, auto&& act) {
  const std::uint64_t before = reader.counters().get(Counter::remote_bytes);
  act();
  return reader.counters().get(Counter::remote_bytes) - before;
}

TEST(LineBudget, AWordMovesAsALine) {
  Stage stage(job(2), 1, block_bytes);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  let_read(stage, home, reader);
  for (std::uint64_t turn = 10; turn < 20; ++turn) {
    write(stage, home, turn, 77, 78);
    EXPECT_LE(bytes_for(reader, [&] { read_after_lapse(stage, home, reader, turn, 77); }), few_bytes);
  }
  EXPECT_EQ(reader.counters().get(Counter::fetches_of_lines), 10u);
  EXPECT_EQ(reader.counters().get(Counter::fetched_line_bytes), 10 * line_bytes);
  EXPECT_EQ(reader.counters().get(Counter::useful_line_bytes), 10u);
}

TEST(LineBudget, SoItDoesBetweenBarriers) {
  Stage stage(job(2), 1, block_bytes);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  let_read(stage, home, reader);
  for (std::uint64_t turn = 10; turn < 14; ++turn) {
    do_now(stage, home, store(home, 0, turn, 77));
    EXPECT_LE(bytes_for(reader,
                        [&] {
                          all_meet(stage);
                          do_now(stage, reader, expect(reader, turn, 77));
                        }),
              2 * few_bytes);
  }
  EXPECT_GE(reader.counters().get(Counter::fetches_of_lines), 4u);
}

// A reader that has seen the previous version gets only the lines of the last change. All older versions
// share one set of lines.
TEST(LineBudget, EachReaderGetsWhatItLacks) {
  Stage stage(job(3), 1, block_bytes);
  Node& home = stage.node(0);
  Node& seldom = stage.node(1);
  Node& often = stage.node(2);
  let_read(stage, home, seldom);
  read_after_lapse(stage, home, often, 3, 0);
  for (std::uint64_t turn = 10; turn < 16; ++turn) {
    write(stage, home, turn, 64 * turn, 64 * turn + 8);
    const std::uint64_t before = often.counters().get(Counter::fetched_line_bytes);
    read_after_lapse(stage, home, often, turn, 64 * turn);
    EXPECT_EQ(often.counters().get(Counter::fetched_line_bytes) - before, line_bytes) << turn;
  }
  read_after_lapse(stage, home, seldom, 15, 64 * 15);
  EXPECT_EQ(seldom.counters().get(Counter::fetched_line_bytes), 6 * line_bytes);
}

TEST(LineBudget, WhatChangedAltogetherMovesAsABlock) {
  Stage stage(job(2), 1, block_bytes);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  let_read(stage, home, reader);
  write(stage, home, 10, 0, words);
  EXPECT_GE(bytes_for(reader, [&] { read_after_lapse(stage, home, reader, 10, 0); }), block_bytes);
  EXPECT_EQ(reader.counters().get(Counter::fetches_of_lines), 0u);
}

// A release that compares more than fits a cache only names closed blocks, and readers take the live bytes.
// Blocks that other ranks read are compared nevertheless, unless all of their bytes change each time.
Task<> write_words(Node& node, std::uint64_t value, std::size_t to) {
  for (std::size_t word = 0; word < to; ++word) co_await store(node, 0, value, word);
}
std::uint64_t bytes_of_late_turns(std::size_t words_per_turn, Counter counter) {
  Configuration configuration = job(2);
  configuration.protocol.cached_bytes = 0;
  Stage stage(configuration, 1, block_bytes);
  Node& home = stage.node(0);
  Node& reader = stage.node(1);
  std::uint64_t before = 0;
  constexpr std::uint64_t turns_before = 6, turns = 4;
  for (std::uint64_t turn = 1; turn <= turns_before + turns; ++turn) {
    if (turn == turns_before + 1) before = stage.total(counter);
    do_now(stage, home, write_words(home, turn, turn == 1 ? words : words_per_turn));
    all_meet(stage);
    do_now(stage, reader, expect(reader, turn, 0));
    all_meet(stage);
  }
  return stage.total(counter) - before;
}

TEST(LineBudget, LargeReleasesCompareWhatChangesLittle) {
  EXPECT_LE(bytes_of_late_turns(1, Counter::fetched_bytes), 4 * line_bytes);
  EXPECT_EQ(bytes_of_late_turns(1, Counter::served_live), 0u);
  EXPECT_EQ(bytes_of_late_turns(words, Counter::fetched_bytes), 4 * block_bytes);
  EXPECT_EQ(bytes_of_late_turns(words, Counter::served_live), 4u);
  EXPECT_EQ(bytes_of_late_turns(words, Counter::comparisons), 0u);
}

// Each far writer merges its word at the home, and gets the words of the other writers.
TEST(LineBudget, FarWritersOfOneBlockGetEachOthersLines) {
  constexpr std::uint32_t writers = 3;
  Stage stage(job(writers), 1, block_bytes);
  std::uint64_t turn = 1;
  const auto play = [&](std::uint64_t turns) {
    for (const std::uint64_t end = turn + turns; turn < end; ++turn) {
      for (std::uint32_t rank = 0; rank < writers; ++rank)
        do_now(stage, stage.node(rank), store(stage.node(rank), 0, turn, 64 * rank));
      all_meet(stage);
      for (std::uint32_t rank = 0; rank < writers; ++rank) {
        for (std::uint32_t writer = 0; writer < writers; ++writer)
          do_now(stage, stage.node(rank), expect(stage.node(rank), turn, 64 * writer));
      }
      all_meet(stage);
    }
  };
  play(8);
  const std::uint64_t before = stage.total(Counter::remote_bytes);
  constexpr std::uint64_t turns = 8;
  play(turns);
  EXPECT_LE(stage.total(Counter::remote_bytes) - before, turns * writers * 4 * few_bytes);
}

// The same in sequence, under a lock: the home knows the lines of all writers, and is asked for them, even if
// the last writer has the whole version.
TEST(LineBudget, FarWritersInTurnGetEachOthersLines) {
  constexpr std::uint32_t writers = 4;
  constexpr LockId lock{0};
  Stage stage(job(writers), 1, block_bytes);
  const auto count = [&](Node& node) -> Task<> {
    co_await node.locks().lock(lock);
    const std::uint64_t value = co_await load(node, 0);
    co_await store(node, 0, value + 1);
    co_await node.unlock(lock);
  };
  const auto play = [&](std::uint64_t turns) {
    for (std::uint64_t turn = 0; turn < turns * writers; ++turn) {
      Node& node = stage.node(turn % writers);
      do_now(stage, node, count(node));
    }
  };
  play(8);
  const std::uint64_t before = stage.total(Counter::remote_bytes);
  constexpr std::uint64_t turns = 8;
  play(turns);
  EXPECT_LE(stage.total(Counter::remote_bytes) - before, turns * writers * 2 * few_bytes);
}

}  // namespace
}  // namespace musubi::sim
