// Values that ranks combine over a network as bad as the contract of the fabric allows: every rank gets all
// of them, and mismatched calls are detected.
#include "sync/collectives.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "seeds.h"
#include "sim_job.h"

namespace musubi::sync {
namespace {

using fabric::conformance::draw_behaviour;
using fabric::conformance::SimBehaviour;
using fabric::conformance::SimJob;

struct Member final : Collectives::MismatchListener {
  Member(fabric::sim::SimFabric& node, Hooks hooks) : collectives(node, hooks) {
    collectives.set_mismatch_listener(this);
  }
  void on_mismatch(const CollectiveTerms& own, Rank other, const CollectiveTerms& theirs) noexcept override {
    EXPECT_NE(own, theirs);
    peer = other;
    found = theirs;
  }
  Collectives collectives;
  std::optional<Rank> peer;
  CollectiveTerms found;
};

struct Job {
  Job(std::uint64_t seed, std::uint32_t ranks, const SimBehaviour& behaviour,
      InjectedBug bug = InjectedBug::none)
      : sim(seed, ranks, behaviour) {
    Hooks hooks;
    hooks.inject(bug);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      members.push_back(std::make_unique<Member>(sim.node(rank), hooks));
    }
  }
  std::vector<std::unique_ptr<Member>> members;  // outlive the tasks
  SimJob sim;
  unsigned wrong = 0;
};

// The same at all ranks.
struct Plan {
  std::uint64_t seed;
  unsigned calls;
  std::uint64_t idle_ns;
};

std::byte value_at(std::uint64_t call, std::uint32_t rank, std::size_t at) {
  return static_cast<std::byte>(call * 7 + rank * 31 + at);
}

Task<> call_all(Job& job, std::uint32_t self, Plan plan) {
  Random random(plan.seed);
  Collectives& collectives = job.members[self]->collectives;
  const std::uint32_t ranks = job.sim.ranks();
  for (unsigned i = 0; i < plan.calls; ++i) {
    co_await fabric::sim::think(job.sim.world().random().below(plan.idle_ns + 1));
    CollectiveTerms terms;
    terms.call = i;
    terms.bytes = random.chance(20) ? collectives.bytes_max() : random.below(65);
    if (random.chance(40)) terms.giver = static_cast<std::uint32_t>(random.below(ranks));
    std::vector<std::byte> mine(terms.bytes);
    for (std::size_t at = 0; at < mine.size(); ++at) mine[at] = value_at(i, self, at);
    const bool fits = co_await collectives.gather(terms, mine);
    if (!fits) co_return;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (terms.giver != CollectiveTerms::all_give && terms.giver != rank) continue;
      const std::span<const std::byte> value = collectives.value_of(Rank{rank});
      bool right = value.size() == terms.bytes;
      for (std::size_t at = 0; right && at < value.size(); ++at) right = value[at] == value_at(i, rank, at);
      if (!right) ++job.wrong;
    }
  }
}

// Result: whether all ended with the right values.
bool all_is_brought(Random& random, InjectedBug bug) {
  const SimBehaviour behaviour = draw_behaviour(random);
  const auto ranks =
      static_cast<std::uint32_t>(random.chance(10) ? random.between(30, 70) : random.between(1, 9));
  Job job(random.next(), ranks, behaviour, bug);
  const Plan plan{random.next(), static_cast<unsigned>(random.between(1, 12)),
                  random.chance(50) ? 2000u : 30'000u};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) job.sim.play(rank, call_all(job, rank, plan));
  return job.sim.run() && job.sim.waiting() == 0 && job.wrong == 0;
}

TEST(CollectivesProperty, EveryRankGetsWhatEachHasGiven) {
  property::for_all(1000, [](Random& random) { ASSERT_TRUE(all_is_brought(random, InjectedBug::none)); });
}

TEST(CollectivesProperty, MixedInboxesAreFound) {
  const auto play = [] {
    property::for_all(100, [](Random& random) {
      MUSUBI_CHECK(all_is_brought(random, InjectedBug::collective_inboxes_mixed), "found");
    });
  };
  EXPECT_DEATH(play(), "");
}

// One rank is in another call than the other ranks, or in a barrier.
Task<> call_once(Job& job, std::uint32_t self, CollectiveTerms terms, bool is_barrier,
                 std::uint64_t idle_ns) {
  Collectives& collectives = job.members[self]->collectives;
  co_await fabric::sim::think(idle_ns);
  const std::vector<std::byte> mine(terms.bytes);
  if (is_barrier) {
    collectives.begin_barrier(terms);
  } else {
    (void)co_await collectives.gather(terms, mine);
  }
}

TEST(CollectivesProperty, CallsThatDoNotFitTogetherAreFound) {
  property::for_all(500, [](Random& random) {
    const SimBehaviour behaviour = draw_behaviour(random);
    const auto ranks = static_cast<std::uint32_t>(random.between(2, 9));
    Job job(random.next(), ranks, behaviour);
    const std::uint64_t kinds = random.below(4);
    const auto others = static_cast<std::uint32_t>(random.between(1, ranks - 1));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const bool other = (rank + others) % ranks < others;
      CollectiveTerms terms{1, 2, 0, CollectiveTerms::all_give, 8, 0};
      if (other && kinds == 0) terms.bytes = 16;
      if (other && kinds == 1) terms.detail = 3;
      if (other && kinds == 2) terms.root = terms.giver = 1;
      if (other && kinds == 3) terms.call = 9;
      job.sim.play(rank, call_once(job, rank, terms, other && kinds == 3, random.below(20'000)));
    }
    ASSERT_TRUE(job.sim.run());
    bool found = false;
    for (const auto& member : job.members) found |= member->peer.has_value();
    ASSERT_TRUE(found) << "kind " << kinds;
  });
}

TEST(CollectivesProperty, EachRoundIsOneMessageOfEachRank) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 8u, 31u}) {
    Job job(1, ranks, {fabric::sim::LatencyModel::infiniband(), fabric::sim::Hostility::calm(), 0});
    CollectiveTerms terms;
    terms.bytes = 8;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      job.sim.play(rank, call_once(job, rank, terms, false, 0));
    ASSERT_TRUE(job.sim.run());
    std::uint64_t messages = 0, operations = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      messages += job.sim.node(rank).counters().get(trace::Counter::messages);
      operations += job.sim.node(rank).counters().get(trace::Counter::remote_operations);
    }
    EXPECT_EQ(messages, ranks * static_cast<unsigned>(std::bit_width(ranks - 1))) << ranks << " ranks";
    EXPECT_EQ(operations, 0u);
  }
}

}  // namespace
}  // namespace musubi::sync
