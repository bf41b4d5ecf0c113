// Rank 0 between two regions, while no other rank runs program code: it releases and acquires nothing
// (docs/decisions/background.md). The threads of the next region find all its writes, however they were made;
// and so does program code that begins at another rank before that.
#include <array>

#include "stage.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_LONE_WORLDS
#define MUSUBI_LONE_WORLDS 400
#endif
constexpr std::uint64_t worlds = MUSUBI_LONE_WORLDS;
constexpr unsigned rounds = 6;
constexpr std::uint64_t blocks = 6;
// In each block: words that rank 0 writes when it is alone, one to which all add, one that all increment
// under a lock, and those of a handover.
constexpr std::size_t words = 4, sum_index = 4, locked_index = 5, data_index = 6, flag_index = 7;
constexpr unsigned steps = 12;

std::uint64_t lone_operations = 0;

struct Setup {
  std::uint32_t nodes;
  bool with_sibling;  // a thread of rank 0 that reaches no barrier
  bool with_guest;    // program code that begins at the last rank while rank 0 is alone
  InjectedBug bug = InjectedBug::none;
};

// The actions of the job's threads, whose results they must find.
struct Play {
  Stage& stage;
  const Setup& setup;
  std::array<std::array<std::uint64_t, words>, blocks> written{};
  std::array<std::uint64_t, blocks> added{}, counted{};
  std::size_t at_work = 0;
  unsigned failures = 0;

  Random& random() { return stage.cluster().world().random(); }
};

Task<> add(Play& play, Node& node, std::uint64_t block) {
  AtomicChange addition(sum_index, addition_of(1), play.random().chance(75));
  co_await node.modify(BlockId{block}, addition);
  ++play.added[block];
}

Task<> count(Play& play, Node& node, std::uint64_t block) {
  co_await node.lock(LockId{0});
  const std::uint64_t before = co_await load(node, block, locked_index);
  if (before != play.counted[block]) ++play.failures;
  co_await store(node, block, ++play.counted[block], locked_index);
  co_await node.unlock(LockId{0});
}

// All writes before the region.
Task<> check(Play& play, Node& node) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t found = co_await load(node, block, i);
      if (found != play.written[block][i]) ++play.failures;
    }
  }
}

Task<> run_alone(Play& play, Node& node) {
  for (unsigned step = 0; step < steps; ++step) {
    const std::uint64_t block = play.random().below(blocks);
    switch (play.random().below(6)) {
      case 0:
        co_await add(play, node, block);
        break;
      case 1:
        co_await count(play, node, block);
        break;
      case 2:
        co_await node.release(block);
        break;
      case 3:
        co_await node.acquire(block);
        break;
      default: {
        const std::size_t index = play.random().below(words);
        const std::uint64_t value = ++play.written[block][index];
        co_await store(node, block, value, index);
      }
    }
    co_await idle(play.stage, 300);
  }
}

// A handler, for example, at the last rank.
Task<> run_guest(Play& play, Node& node) {
  co_await idle(play.stage, 3000);
  co_await node.join_lone_rank();
  for (unsigned step = 0; step < 3; ++step) {
    const std::uint64_t block = play.random().below(blocks);
    co_await add(play, node, block);
    co_await count(play, node, block);
  }
}

Task<> run_sibling(Play& play, Node& node) {
  for (unsigned step = 0; step < rounds * steps; ++step) {
    co_await idle(play.stage, 500);
    const std::uint64_t block = play.random().below(blocks);
    play.random().chance(50) ? co_await add(play, node, block) : co_await count(play, node, block);
  }
  --play.at_work;
}

// By a plain flag: order is kept in regions, whatever rank 0 did before.
Task<> hand_over(Play& play, Node& node, unsigned round) {
  const std::uint64_t data = round % blocks, flag = (round + 1) % blocks;
  if (node.self() == Rank{0}) {
    co_await store(node, data, round, data_index);
    co_return co_await store(node, flag, round, flag_index);
  }
  for (;;) {
    const std::uint64_t seen = co_await load(node, flag, flag_index);
    if (seen >= round) break;
    co_await node.flush();
    co_await idle(play.stage, 500);
  }
  const std::uint64_t found = co_await load(node, data, data_index);
  if (found < round) ++play.failures;
}

Task<> run_region(Play& play, Node& node, unsigned round) {
  co_await check(play, node);
  if (play.stage.cluster().configuration().plain_flags != 0) co_await hand_over(play, node, round);
  for (unsigned step = 0; step < 3; ++step) {
    const std::uint64_t block = play.random().below(blocks);
    co_await add(play, node, block);
    co_await count(play, node, block);
  }
}

Task<> run_rank(Play& play, Node& node) {
  const bool is_first = node.self() == Rank{0};
  const bool has_guest = play.setup.with_guest && node.self().value + 1 == play.setup.nodes;
  for (unsigned round = 1; round <= rounds; ++round) {
    if (is_first) {
      co_await node.begin_alone();
      co_await run_alone(play, node);
    } else if (has_guest) {
      co_await run_guest(play, node);
    }
    co_await meet(node);
    co_await run_region(play, node, round);
    co_await meet(node);
  }
  --play.at_work;
}

Task<> work_in_background(Play& play, Node& node) {
  while (play.at_work != 0) {
    co_await node.answer();
    if (play.random().chance(20)) co_await node.poll();
    co_await idle(play.stage, 4000 + 4 * play.stage.cluster().configuration().model.latency_ns);
  }
}

Task<> check_sums(Play& play, Node& node) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t sum = co_await load(node, block, sum_index);
    const std::uint64_t counted = co_await load(node, block, locked_index);
    if (sum != play.added[block] || counted != play.counted[block]) ++play.failures;
  }
}

// Result: whether all threads found the expected values.
bool goes_well(const Setup& setup, std::uint64_t seed) {
  Configuration configuration = hostile(seed, setup.nodes);
  configuration.plain_flags = seed % 2;
  configuration.outsiders = setup.with_sibling ? 1 : 0;
  configuration.background = 1;
  configuration.lock_uses = seed % 3;
  configuration.bug = setup.bug;
  Stage stage(configuration, blocks);
  Play play{stage, setup};
  play.at_work = setup.nodes + (setup.with_sibling ? 1 : 0);
  for (std::uint32_t rank = 0; rank < setup.nodes; ++rank) {
    stage.play(rank, run_rank(play, stage.node(rank)));
    stage.play(rank, work_in_background(play, stage.node(rank)));
  }
  if (setup.with_sibling) stage.play(0, run_sibling(play, stage.node(0)));
  if (!stage.ends_well(20'000'000)) return false;
  stage.play_on_all(meet);
  if (!stage.ends_well(20'000'000)) return false;
  stage.play(setup.nodes - 1, check_sums(play, stage.node(setup.nodes - 1)));
  lone_operations += stage.total(trace::Counter::lone_atomics);
  return stage.ends_well() && play.failures == 0;
}

void expect_right(const Setup& setup) {
  expect_right_in_all(worlds, [&](std::uint64_t seed, InjectedBug) { return goes_well(setup, seed); });
}
bool fault_is_found(const Setup& setup) {
  return is_found(
      worlds, [&](std::uint64_t seed, InjectedBug) { return goes_well(setup, seed); }, setup.bug);
}

TEST(LoneLitmus, RegionsFindWhatRankZeroDidAlone) {
  for (const std::uint32_t nodes : {2u, 3u}) expect_right({nodes, false, false});
  EXPECT_GT(lone_operations, worlds) << "hardly anything was done alone";
}

TEST(LoneLitmus, AThreadThatComesToNoBarrierOperatesExactlyAllTheTime) {
  for (const std::uint32_t nodes : {2u, 3u}) expect_right({nodes, true, false});
}

TEST(LoneLitmus, CodeThatBeginsElsewhereFindsItToo) {
  for (const bool with_sibling : {false, true}) expect_right({3, with_sibling, true});
}

TEST(LoneLitmus, FaultsAreFound) {
  EXPECT_TRUE(fault_is_found({2, false, false, InjectedBug::alone_in_regions}));
  EXPECT_TRUE(fault_is_found({2, false, true, InjectedBug::alone_beside_others}));
  EXPECT_TRUE(fault_is_found({2, false, true, InjectedBug::lone_rank_not_told}));
  EXPECT_TRUE(fault_is_found({3, false, true, InjectedBug::alone_beside_guests}));
}

}  // namespace
}  // namespace musubi::sim
