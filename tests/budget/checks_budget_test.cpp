// Costs of accesses that the program announces: blocks side by side, and blocks that it overwrites whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr std::uint64_t block_count = 256, apart = 3;

AddressRange range_of(Node& node, Stage& stage, std::uint64_t block, std::uint64_t blocks = 1) {
  static_cast<void>(node);
  return {stage.cluster().space().extent(BlockId{block}).address, blocks * stage_block_bytes};
}
Task<> write_all(Node& node, std::uint64_t blocks, std::uint64_t value) {
  for (std::uint64_t i = 0; i < blocks; ++i) {
    for (std::size_t word = 0; word < stage_block_bytes / 8; ++word)
      co_await store(node, i, value + word, word);
  }
}
Task<> read_scattered(Node& node) {
  for (std::uint64_t i = 0; i < block_count; i += apart) static_cast<void>(co_await load(node, i));
}
Task<> expect_all(Node& node, std::uint64_t blocks, std::uint64_t value) {
  for (std::uint64_t i = 0; i < blocks; ++i) {
    for (std::size_t word = 0; word < stage_block_bytes / 8; ++word)
      EXPECT_EQ(co_await load(node, i, word), value + word) << "block " << i;
  }
}
Task<> open_all(Node& node, const std::vector<AddressRange>& ranges) {
  co_await node.open_all(ranges, vm::Access::read);
}
Task<> expect_first(Node& node, std::uint64_t block, std::uint64_t value) {
  EXPECT_EQ(co_await load(node, block), value);
}
Task<> open_to_write(Node& node, AddressRange range) {
  co_await node.open_all({&range, 1}, vm::Access::write);
}
Task<> overwrite_all(Node& node, AddressRange range, std::uint64_t value) {
  co_await node.overwrite(range);
  co_await write_all(node, range.bytes / stage_block_bytes, value);
}

// The time in which rank 1 does it, in trips.
class Clock {
 public:
  explicit Clock(Stage& stage) : world_(stage.cluster().world()), begin_(world_.now_ns()) {}
  std::uint64_t trips(std::uint64_t trip_ns) const { return (world_.now_ns() - begin_) / trip_ns; }

 private:
  fabric::sim::World& world_;
  const std::uint64_t begin_;
};

Configuration far_apart(std::size_t window) {
  Configuration configuration = calm(2);
  configuration.model = {50'000, 0, 5, 5, 5, 0, 0};
  configuration.protocol.release_window = window;
  configuration.protocol.run_bytes_max = stage_block_bytes;
  return configuration;
}

TEST(ChecksBudget, ScatteredBlocksComeSideBySide) {
  constexpr std::size_t window = 32;
  const std::uint64_t trip_ns = 100'000, blocks = (block_count + apart - 1) / apart;
  std::uint64_t by_faults = 0, by_one_call = 0;
  for (const bool named : {false, true}) {
    Stage stage(far_apart(window), block_count);
    Node& reader = stage.node(1);
    do_now(stage, stage.node(0), write_all(stage.node(0), block_count, 7));
    all_meet(stage);
    std::vector<AddressRange> ranges;
    for (std::uint64_t i = 0; i < block_count; i += apart) ranges.push_back(range_of(reader, stage, i));
    const Clock clock(stage);
    const std::uint64_t fetched = reader.counters().get(Counter::fetches);
    if (named) do_now(stage, reader, open_all(reader, ranges));
    (named ? by_one_call : by_faults) = clock.trips(trip_ns);
    const std::uint64_t faults = reader.counters().get(Counter::read_faults);
    do_now(stage, reader, read_scattered(reader));
    if (!named) by_faults = clock.trips(trip_ns);
    EXPECT_EQ(reader.counters().get(Counter::fetches) - fetched, blocks);
    if (named) {
      EXPECT_EQ(reader.counters().get(Counter::read_faults), faults);
    }
  }
  EXPECT_GE(by_faults, blocks);
  EXPECT_LE(by_one_call, 2 * (blocks / window + 2));
}

TEST(ChecksBudget, NamedNeighboursComeAsOneRunAndNoFurther) {
  Configuration configuration = calm(2);
  configuration.protocol.run_bytes_max = 16 * stage_block_bytes;
  configuration.protocol.leave_unpublished = false;
  Stage stage(configuration, block_count);
  Node& reader = stage.node(1);
  do_now(stage, stage.node(0), write_all(stage.node(0), block_count, 7));
  all_meet(stage);
  const std::uint64_t fetched = reader.counters().get(Counter::fetches);
  const std::uint64_t operations = reader.counters().get(Counter::remote_operations);
  do_now(stage, reader, open_all(reader, {range_of(reader, stage, 32, 64)}));
  EXPECT_EQ(reader.counters().get(Counter::fetches) - fetched, 64u);
  EXPECT_LE(reader.counters().get(Counter::remote_operations) - operations, 2u * 64 / 16);
}

// Touches `blocks` blocks piece by piece, as a loop over rows does.
struct Pieces {
  vm::Access wanted;
  std::uint64_t bytes;  // of a piece
  bool named;
};
constexpr std::uint64_t blocks_in_pieces = 128;
Task<> touch_pieces(Node& node, Stage& stage, Pieces pieces) {
  const std::uint64_t all = blocks_in_pieces * stage_block_bytes;
  for (std::uint64_t begin = 0; begin < all; begin += pieces.bytes) {
    const AddressRange piece{range_of(node, stage, 0).begin + begin, std::min(pieces.bytes, all - begin)};
    if (pieces.named) co_await node.open_all({&piece, 1}, pieces.wanted);
    for (std::uint64_t at = begin; at < begin + piece.bytes; at += 8) {
      const std::uint64_t block = at / stage_block_bytes, word = at % stage_block_bytes / 8;
      if (pieces.wanted == vm::Access::write) {
        co_await store(node, block, at, word);
      } else {
        EXPECT_EQ(co_await load(node, block, word), 7 + word);
      }
    }
  }
}
struct Costs {
  std::uint64_t openings, operations;
};
Costs costs_of(Pieces pieces) {
  Configuration configuration = calm(2);
  configuration.protocol.run_bytes_max = 16 * stage_block_bytes;
  Stage stage(configuration, block_count);
  Node& node = stage.node(1);
  const bool reads = pieces.wanted == vm::Access::read;
  if (reads) do_now(stage, stage.node(0), write_all(stage.node(0), block_count, 7));
  all_meet(stage);
  const auto openings = reads ? Counter::read_faults : Counter::write_faults;
  const Costs before{node.counters().get(openings), node.counters().get(Counter::remote_operations)};
  do_now(stage, node, touch_pieces(node, stage, pieces));
  return {node.counters().get(openings) - before.openings,
          node.counters().get(Counter::remote_operations) - before.operations};
}

// A loop over rows names a piece of each before it: that must not cost more than the faults, which bring
// runs. Pieces lie within a block, straddle two, or are shorter than a run.
TEST(ChecksBudget, PiecesNamedOneAfterTheOtherComeInRuns) {
  for (const auto wanted : {vm::Access::read, vm::Access::write}) {
    const Costs by_faults = costs_of({wanted, stage_block_bytes, false});
    EXPECT_LE(by_faults.openings, blocks_in_pieces / 8);
    for (const std::uint64_t words : {4u, 8u, 9u, 12u, 24u, 100u}) {
      const Costs by_pieces = costs_of({wanted, words * 8, true});
      EXPECT_LE(by_pieces.openings, by_faults.openings) << words;
      if (wanted == vm::Access::write) continue;  // each first touch is a batch of its own
      EXPECT_LE(by_pieces.operations, by_faults.operations) << words;
    }
  }
}

// Two arrays side by side that a rank writes at each turn, and another one reads: each release closes them to
// writes, for they are too large to be compared. The last run of the first array is short, and takes along
// blocks that were changed when they were open last.
TEST(ChecksBudget, AShortRunTakesAlongBlocksThatWereChangedLastTime) {
  constexpr std::uint64_t run = 16, first = run + 4, second = run - 4;
  constexpr std::size_t block_bytes = 512 << 10;
  Configuration configuration = calm(2);
  configuration.protocol.run_bytes_max = run * block_bytes;
  configuration.protocol.cached_bytes = 0;
  Stage stage(configuration, first + second, block_bytes);
  Node &writer = stage.node(0), &reader = stage.node(1);
  const std::uintptr_t base = range_of(writer, stage, 0).begin;
  const AddressRange ranges[]{{base, first * block_bytes},
                              {base + first * block_bytes, second * block_bytes}};
  for (std::uint64_t turn = 1; turn <= 6; ++turn) {
    const std::uint64_t before = writer.counters().get(Counter::write_faults);
    for (const AddressRange& range : ranges) do_now(stage, writer, open_to_write(writer, range));
    const std::uint64_t openings = writer.counters().get(Counter::write_faults) - before;
    EXPECT_EQ(openings, turn == 1 ? 3u : 2u) << turn;
    for (std::uint64_t i = 0; i < first + second; ++i) do_now(stage, writer, store(writer, i, turn));
    all_meet(stage);
    for (std::uint64_t i = 0; i < first + second; ++i) do_now(stage, reader, expect_first(reader, i, turn));
    all_meet(stage);
  }
}

// A block that rank 0 wrote, in each way in which its home may keep it. A rank that has read it before may
// fetch the new bytes ahead of its next read: then only the bytes of the writer are counted.
void expect_no_bytes(const Configuration& configuration, unsigned releases, bool read_before) {
  constexpr std::uint64_t blocks = 16;
  Stage stage(configuration, blocks);
  Node &before = stage.node(0), &writer = stage.node(1);
  for (unsigned i = 0; i < releases; ++i) {
    do_now(stage, before, write_all(before, blocks, 100 + i));
    all_meet(stage);
    if (read_before) do_now(stage, writer, expect_all(writer, blocks, 100 + i));
    if (read_before) all_meet(stage);
  }
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    Node& now = turn % 2 != 0 ? writer : before;
    const auto fetched = [&] {
      return read_before ? now.counters().get(Counter::fetched_bytes) : stage.total(Counter::fetched_bytes);
    };
    const std::uint64_t bytes = fetched();
    do_now(stage, now, overwrite_all(now, range_of(now, stage, 0, blocks), 1000 * turn));
    all_meet(stage);
    all_meet(stage);
    EXPECT_EQ(fetched(), bytes) << "turn " << turn;
  }
  EXPECT_GE(stage.total(Counter::overwritten_blocks), blocks);
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    do_now(stage, stage.node(rank), expect_all(stage.node(rank), blocks, 4000));
}

TEST(ChecksBudget, AnOverwrittenArrayMovesNoBytesOfBefore) {
  for (const unsigned releases : {1u, 2u, 5u}) {
    for (const bool read_before : {false, true}) expect_no_bytes(calm(2), releases, read_before);
  }
}

TEST(ChecksBudget, NorDoesItWithFixedHomes) {
  Configuration configuration = calm(2);
  configuration.policy = Policy::home_based;
  expect_no_bytes(configuration, 2, false);
}

}  // namespace
}  // namespace musubi::sim
