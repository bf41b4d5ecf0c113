// Scenarios of barriers of threads in many hostile worlds: each thread reads what all wrote before, and no
// thread leaves early, stays for good, or is woken by another barrier.
#include "stage.h"

namespace musubi::sim {
namespace {

#ifdef MUSUBI_LITMUS_WORLDS
constexpr std::uint64_t worlds = MUSUBI_LITMUS_WORLDS;
#else
constexpr std::uint64_t worlds = 300;
#endif
constexpr std::uint32_t nodes = 4, threads_of_node = 2;

Configuration world_of_barriers(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, nodes);
  configuration.threads = threads_of_node;
  configuration.locks = 2;
  configuration.bug = bug;
  return configuration;
}

struct Rounds {
  unsigned last = 0;   // threads that were the last at a barrier
  unsigned early = 0;  // threads that left before all had come
  unsigned stale = 0;  // old values read
  std::vector<std::uint64_t> come;
};

// Each thread has a word of block thread % 3, so that blocks have several writers. Barriers alternate, as of
// a program with several; the names are addresses.
Task<> take_part(Stage& stage, Node& node, std::uint32_t thread, std::uint32_t threads, unsigned rounds,
                 Rounds* seen) {
  for (unsigned round = 1; round <= rounds; ++round) {
    co_await idle(stage, 3000);
    co_await store(node, thread % 3, round * 100 + thread, thread / 3);
    seen->come[thread] = round;
    const std::uint64_t name = 0x10000 + 64 * (round % 2);
    const bool is_last = co_await node.pass_barrier(name, threads);
    if (is_last) ++seen->last;
    for (std::uint32_t other = 0; other < threads; ++other) {
      if (seen->come[other] < round) ++seen->early;
      const std::uint64_t value = co_await load(node, other % 3, other / 3);
      if (value != round * 100 + other) ++seen->stale;
    }
    (void)co_await node.pass_barrier(0x20000, threads);
  }
}

bool all_see_all(std::uint64_t seed, InjectedBug bug) {
  constexpr unsigned rounds = 4;
  constexpr std::uint32_t threads = nodes * threads_of_node;
  Stage stage(world_of_barriers(seed, bug), 3);
  Rounds seen;
  seen.come.assign(threads, 0);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    const std::uint32_t rank = thread % nodes;
    stage.play(rank, take_part(stage, stage.node(rank), thread, threads, rounds, &seen));
  }
  return stage.ends_well(20'000'000) && seen.last == rounds && seen.early == 0 && seen.stale == 0;
}

TEST(ThreadBarriersLitmus, EachThreadReadsWhatAllWroteBefore) {
  expect_right_in_all(worlds, all_see_all);
}

TEST(ThreadBarriersLitmus, FaultsAreFound) {
  for (const InjectedBug bug :
       {InjectedBug::thread_barrier_before_release, InjectedBug::thread_barrier_woken_early,
        InjectedBug::thread_barrier_not_acquired}) {
    EXPECT_TRUE(is_found(worlds, all_see_all, bug)) << static_cast<unsigned>(bug);
  }
}

// Pairs of threads, each with a barrier of its own, of one home or of several: more than that home has places
// next to each other, so that some threads wait for a place.
Task<> meet_often(Stage& stage, Node& node, std::uint64_t name, unsigned rounds, unsigned* inside) {
  for (unsigned round = 0; round < rounds; ++round) {
    co_await idle(stage, 2000);
    ++*inside;
    (void)co_await node.pass_barrier(name, 2);
    if (*inside % 2 != 0) *inside += 1000;
    (void)co_await node.pass_barrier(name, 2);
  }
}
bool pairs_meet(std::uint64_t seed, InjectedBug bug) {
  constexpr unsigned pairs = 24, rounds = 3;
  Stage stage(world_of_barriers(seed, bug), 3);
  std::vector<unsigned> inside(pairs);
  for (unsigned pair = 0; pair < pairs; ++pair) {
    for (const std::uint32_t rank : {pair % nodes, (pair + 1 + pair / nodes) % nodes}) {
      stage.play(rank, meet_often(stage, stage.node(rank), 0x40 + pair * 8, rounds, &inside[pair]));
    }
  }
  const bool ended = stage.ends_well(20'000'000);
  for (const unsigned count : inside) {
    if (count != 2 * rounds) return false;
  }
  return ended;
}

TEST(ThreadBarriersLitmus, BarriersDoNotDisturbEachOther) {
  expect_right_in_all(worlds, pairs_meet);
}

}  // namespace
}  // namespace musubi::sim
