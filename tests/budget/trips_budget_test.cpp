// Trips in sequence, near and far alike: the number of round trips that one rank waits for when it needs
// another (docs/design/coherence.md, section 10).
#include <gtest/gtest.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using trace::Counter;

constexpr LockId lock_of_rank_0{0};

class Trips : public ::testing::TestWithParam<bool> {
 protected:
  static Configuration job(std::uint32_t nodes) {
    Configuration configuration = calm(nodes);
    configuration.model.local_pointer = GetParam();
    return configuration;
  }
  // The trips of `task`, alone in the job; each operation waits for the previous one.
  static std::uint64_t trips_of(Stage& stage, Node& node, Task<> task) {
    const std::uint64_t before = node.counters().get(Counter::remote_operations);
    const std::uint64_t begin = stage.cluster().world().now_ns();
    do_now(stage, node, std::move(task));
    const std::uint64_t trips = node.counters().get(Counter::remote_operations) - before;
    const std::uint64_t round_trip = 2 * stage.cluster().configuration().model.latency_ns;
    EXPECT_GE(stage.cluster().world().now_ns() - begin, trips * round_trip) << "one after the other";
    return trips;
  }
};

Task<> release(Node& node) {
  co_await node.protocol().release(coherence::Scope::everything(), false);
}
Task<> acquire_clock(Node& node, std::uint64_t time) {
  co_await node.protocol().acquire_clock(LogicalTime{time});
}
Task<> read(Node& node, std::uint64_t block) {
  (void)co_await load(node, block);
}
Task<> lock_alone(Node& node, LockId lock) {
  co_await node.locks().lock(lock);
}
Task<> unlock(Node& node, LockId lock) {
  co_await node.unlock(lock);
}
void write(Stage& stage, Node& node, std::uint64_t value) {
  do_now(stage, node, store(node, 0, value));
  do_now(stage, node, release(node));
}

TEST_P(Trips, AReadWithoutANoticeIsOne) {
  Stage stage(job(2), 2);
  write(stage, stage.node(0), 1);
  EXPECT_EQ(trips_of(stage, stage.node(1), read(stage.node(1), 0)), 1u);
}

// The reader assumes the home of last time; the initial home knows the current one.
TEST_P(Trips, AStaleLinkIsOneMoreWhereverTheHomeHasBeen) {
  for (const std::uint32_t moves : {1u, 2u, 6u}) {
    Stage stage(job(8), 8);
    Node& reader = stage.node(7);
    write(stage, stage.node(0), 1);
    do_now(stage, reader, read(reader, 0));
    for (std::uint32_t i = 1; i <= moves; ++i) write(stage, stage.node(i), i + 1);
    do_now(stage, reader, acquire_clock(reader, 1000));
    EXPECT_EQ(trips_of(stage, reader, read(reader, 0)), 2u) << moves;
  }
}

TEST_P(Trips, ARenewalIsOne) {
  Stage stage(job(2), 2);
  Node& reader = stage.node(1);
  write(stage, stage.node(0), 1);
  do_now(stage, reader, read(reader, 0));
  do_now(stage, reader, acquire_clock(reader, 1000));
  EXPECT_EQ(trips_of(stage, reader, read(reader, 0)), 1u);
  EXPECT_EQ(reader.counters().get(Counter::renewals), 1u);
}

TEST_P(Trips, AFirstTouchIsOneAndWritingOnIsNone) {
  Stage stage(job(2), 2);
  Node& writer = stage.node(1);
  EXPECT_EQ(trips_of(stage, writer, store(writer, 0, 1)), 1u);
  EXPECT_EQ(trips_of(stage, writer, store(writer, 0, 2)), 0u);
  EXPECT_EQ(trips_of(stage, writer, release(writer)), 0u);
}

// The home merges the changes that it receives.
TEST_P(Trips, AReleaseBesideAnotherWriterIsOne) {
  Stage stage(job(3), 3);
  Node& writer = stage.node(1);
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    write(stage, writer, turn);
    write(stage, stage.node(2), turn);
    do_now(stage, stage.node(0), read(stage.node(0), 0));
  }
  do_now(stage, writer, store(writer, 0, 4));
  EXPECT_EQ(trips_of(stage, writer, release(writer)), 1u);
}

TEST_P(Trips, ALockThatIsFreeAtItsInitialHomeIsOne) {
  Stage stage(job(3), 3);
  Node& taker = stage.node(1);
  EXPECT_EQ(trips_of(stage, taker, lock_alone(taker, lock_of_rank_0)), 1u);
  EXPECT_EQ(trips_of(stage, taker, unlock(taker, lock_of_rank_0)), 0u);
  EXPECT_EQ(trips_of(stage, taker, lock_alone(taker, lock_of_rank_0)), 0u) << "it stayed here";
  do_now(stage, taker, unlock(taker, lock_of_rank_0));
  Node& third = stage.node(2);
  EXPECT_EQ(trips_of(stage, third, lock_alone(third, lock_of_rank_0)), 2u) << "another rank had it last";
  do_now(stage, third, unlock(third, lock_of_rank_0));
}

// Notices that a rank has acquired from another rank are not sent again, however many they are.
TEST_P(Trips, ALockBringsOnlyWhatIsNewToItsTaker) {
  constexpr std::uint64_t blocks = 100;
  Stage stage(job(2), 2 * blocks);
  Node& giver = stage.node(0);
  Node& taker = stage.node(1);
  const auto hand_over = [&](std::uint64_t value, std::uint64_t changed) {
    do_now(stage, giver, lock_alone(giver, lock_of_rank_0));
    for (std::uint64_t i = 0; i < changed; ++i) do_now(stage, giver, store(giver, 2 * i + 1, value));
    do_now(stage, giver, unlock(giver, lock_of_rank_0));
    const std::uint64_t before = taker.counters().get(Counter::remote_bytes);
    EXPECT_EQ(trips_of(stage, taker, lock_alone(taker, lock_of_rank_0)), 1u);
    do_now(stage, taker, unlock(taker, lock_of_rank_0));
    return taker.counters().get(Counter::remote_bytes) - before;
  };
  constexpr std::uint64_t notice_bytes = 32, without_notices = 250;
  hand_over(1, blocks);
  for (std::uint64_t i = 0; i < blocks; ++i) do_now(stage, taker, read(taker, 2 * i + 1));
  EXPECT_GE(hand_over(2, blocks), blocks * notice_bytes);
  EXPECT_LE(hand_over(2, 0), without_notices);
  EXPECT_LE(hand_over(3, 1), without_notices + notice_bytes);
}

// The handover of a lock to a waiting rank: the trips from there to the end of the taker's lock().
struct HandOver {
  std::uint64_t ns = 0;
  std::uint64_t trips = 0;  // trips of the taker
};
Task<> take_and_look(Stage& stage, Node& node, LockId lock, HandOver* end) {
  co_await node.locks().lock(lock);
  *end = {stage.cluster().world().now_ns(), node.counters().get(Counter::remote_operations)};
}
HandOver hand_over(Stage& stage, Node& giver, Node& taker, LockId lock) {
  HandOver end;
  stage.play(taker.self().value, take_and_look(stage, taker, lock, &end));
  EXPECT_TRUE(stage.cluster().world().run(100000));
  EXPECT_EQ(end.ns, 0u) << "it waits";
  const HandOver begin{stage.cluster().world().now_ns(), taker.counters().get(Counter::remote_operations)};
  do_now(stage, giver, unlock(giver, lock));
  return {end.ns - begin.ns, end.trips - begin.trips};
}

// The grant carries the notices: half a trip, whichever rank is the lock's initial home. Only if they exceed
// a message does the taker ask for them.
TEST_P(Trips, AContendedLockIsHandedOverInHalfOfOne) {
  constexpr std::uint64_t blocks = 100;
  constexpr std::uint32_t ranks = 3;
  Configuration configuration = job(ranks);
  configuration.locks = ranks;
  configuration.protocol.fetches_ahead_max = 0;  // no trips for blocks
  for (std::uint32_t home = 0; home < ranks; ++home) {
    Stage stage(configuration, ranks * blocks);
    const std::uint64_t one_way = configuration.model.latency_ns;
    const LockId lock{home};
    do_now(stage, stage.node(2), lock_alone(stage.node(2), lock));
    do_now(stage, stage.node(2), unlock(stage.node(2), lock));
    do_now(stage, stage.node(0), lock_alone(stage.node(0), lock));
    for (std::uint32_t turn = 0; turn < 6; ++turn) {
      Node& giver = stage.node(turn % 2);
      Node& taker = stage.node((turn + 1) % 2);
      do_now(stage, giver, store(giver, giver.self().value, turn));
      const HandOver few = hand_over(stage, giver, taker, lock);
      EXPECT_EQ(few.trips, 0u);
      EXPECT_LT(few.ns, one_way * 3 / 2);
      do_now(stage, taker, read(taker, giver.self().value));
    }
    Node& giver = stage.node(0);
    for (std::uint64_t i = 0; i < blocks; ++i) do_now(stage, giver, store(giver, ranks * i, 7));
    for (std::uint64_t i = 0; i < blocks; ++i) do_now(stage, stage.node(2), read(stage.node(2), ranks * i));
    EXPECT_EQ(hand_over(stage, giver, stage.node(1), lock).trips, 1u);
  }
}

// Long enough for the other ranks to queue up.
constexpr std::uint64_t section_ns = 20'000;

// From an unlock until the next rank has counted.
struct Sections {
  std::uint64_t ns = 0;
  std::uint64_t times = 0;
};
Task<> count_sections(Stage& stage, Node& node, unsigned sections, std::uint64_t* unlocked_at,
                      Sections* all) {
  for (unsigned i = 0; i < sections; ++i) {
    const std::uint64_t before = node.counters().get(Counter::lock_handovers);
    co_await node.locks().lock(lock_of_rank_0);
    const std::uint64_t value = co_await load(node, 0);
    co_await store(node, 0, value + 1);
    if (node.counters().get(Counter::lock_handovers) != before) {
      all->ns += stage.cluster().world().now_ns() - *unlocked_at;
      ++all->times;
    }
    co_await fabric::sim::think(section_ns);
    *unlocked_at = stage.cluster().world().now_ns();
    co_await node.unlock(lock_of_rank_0);
  }
}

// A counter in a critical section: release at the counter's home, grant, and a fetch of the counter.
TEST_P(Trips, ACriticalSectionIsHandedOverInThreeOneWaysAndAFetch) {
  constexpr unsigned warm_up = 20, sections = 40;
  constexpr std::uint64_t one_ways = 3 + 2;
  for (const std::uint32_t ranks : {2u, 3u, 4u}) {
    Stage stage(job(ranks), ranks);
    const std::uint64_t one_way = stage.cluster().configuration().model.latency_ns;
    std::uint64_t unlocked_at = 0;
    const auto count = [&](unsigned times) {
      Sections all;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        stage.play(rank, count_sections(stage, stage.node(rank), times, &unlocked_at, &all));
      }
      stage.finish();
      return all;
    };
    count(warm_up);
    const Sections all = count(sections);
    EXPECT_GT(all.times, sections);
    EXPECT_LE(all.ns / all.times, one_ways * one_way) << ranks << " ranks";
  }
}

// All ranks are asked at once: the time is that of two trips if a rank has something new, otherwise of one.
TEST_P(Trips, AFlushAsksAllRanksAtOnce) {
  constexpr std::uint32_t ranks = 9;
  Stage stage(job(ranks), ranks);
  Node& flusher = stage.node(0);
  const std::uint64_t round_trip = 2 * stage.cluster().configuration().model.latency_ns;
  const auto flush_ns = [&] {
    const std::uint64_t begin = stage.cluster().world().now_ns();
    do_now(stage, flusher, flusher.flush());
    return stage.cluster().world().now_ns() - begin;
  };
  (void)flush_ns();  // the first flush tells all ranks that a rank flushes
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    do_now(stage, stage.node(rank), store(stage.node(rank), rank, 1));
    do_now(stage, stage.node(rank), release(stage.node(rank)));
  }
  EXPECT_LE(flush_ns(), 3 * round_trip);
  EXPECT_LE(flush_ns(), 2 * round_trip);
}

INSTANTIATE_TEST_SUITE_P(Peers, Trips, ::testing::Bool(),
                         [](const auto& peers) { return peers.param ? "near" : "far"; });

}  // namespace
}  // namespace musubi::sim
