// The breaks of global heaps over a network as bad as the contract of the fabric allows: no two callers get
// the same byte, no change is lost, and every refusal is right.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "global_heap/breaks.h"
#include "seeds.h"
#include "sim_job.h"

namespace musubi::global_heap {
namespace {

using fabric::conformance::draw_behaviour;
using fabric::conformance::SimBehaviour;
using fabric::conformance::SimJob;

constexpr fabric::RegionId region{0};
constexpr std::int64_t capacity = 4000;

struct Member {
  explicit Member(fabric::sim::SimFabric& node) {
    node.attach({region, reinterpret_cast<std::byte*>(&control), sizeof control});
  }
  Control control;
  std::optional<BreakTable> table;
};

// The true state of one heap: the owner of each byte. Recorded when a decision returns; the lock orders
// decisions, but their callers learn of them in any order, so a byte may be taken before its giver has
// recorded that it gave the byte: each byte counts how often it was taken and given.
struct Truth {
  std::array<int, capacity> holders{};
  std::int64_t taken = 0;  // by breaks, as a sum of all changes
};

struct Job {
  Job(std::uint64_t seed, std::uint32_t ranks, const SimBehaviour& behaviour, const ForcedWays& ways,
      std::uint64_t size, InjectedBug bug = InjectedBug::none)
      : sim(seed, ranks, behaviour), truths(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      members.push_back(std::make_unique<Member>(sim.node(rank)));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Member& member = *members[rank];
      Hooks hooks;
      hooks.inject(bug);
      member.table.emplace(sim.node(rank), HeapPlace{region, 0, &member.control}, ways, hooks);
      member.table->open({0, size, size, 0});
    }
  }
  Random& random() { return sim.world().random(); }

  std::vector<std::unique_ptr<Member>> members;  // outlive the tasks
  SimJob sim;
  std::vector<Truth> truths;
  unsigned done = 0;
  unsigned unsound = 0;
  std::array<unsigned, 5> refused{};
};

bool is_sound(const Breaks& breaks) {
  return breaks.floor <= breaks.gbrk && breaks.gbrk <= breaks.glimit && breaks.glimit <= breaks.end &&
         breaks.end <= static_cast<std::uint64_t>(capacity);
}

void note(Truth& truth, std::uint64_t begin, std::uint64_t end, int change) {
  for (std::uint64_t byte = begin; byte < end; ++byte) truth.holders[byte] += change;
}

// The bytes that the caller has gained or given up: bytes below the break, and bytes above the limit.
void note(Job& job, Rank owner, const Request& request, const Decision& decision) {
  if (!is_sound(decision.before) || !is_sound(decision.after)) {
    ++job.unsound;
    return;
  }
  ++job.refused[static_cast<std::size_t>(decision.refusal)];
  if (decision.refusal != Refusal::none) return;
  ++job.done;
  Truth& truth = job.truths[owner.value];
  const Breaks& before = decision.before;
  const Breaks& after = decision.after;
  if (request.kind == Request::Kind::grow) {
    note(truth, decision.remainder.begin, decision.remainder.begin + decision.remainder.bytes, 1);
    return;
  }
  if (after.gbrk >= before.gbrk) note(truth, before.gbrk, after.gbrk, 1);
  if (after.gbrk < before.gbrk) note(truth, after.gbrk, before.gbrk, -1);
  if (after.glimit <= before.glimit) note(truth, after.glimit, before.glimit, 1);
  if (after.glimit > before.glimit) note(truth, before.glimit, after.glimit, -1);
}

Request draw(Random& random, bool is_own, std::int64_t seen) {
  const auto below = [&random](std::uint64_t bound) {
    return static_cast<std::int64_t>(random.below(bound));
  };
  switch (random.below(is_own ? 5 : 4)) {
    case 0:
      return {Request::Kind::look};
    case 1:
      return {Request::Kind::extend_break, below(60) - 10};
    case 2:
      return {Request::Kind::move_break, seen, seen + below(60) - 10};
    case 3:
      return random.chance(30) ? Request{Request::Kind::grow, below(100), capacity}
                               : Request{Request::Kind::extend_break, below(30)};
    default:
      return {Request::Kind::move_limit, below(capacity)};
  }
}

Task<> use_heaps(Job& job, std::uint32_t self, unsigned operations, std::uint64_t idle_ns) {
  BreakTable& table = *job.members[self]->table;
  std::vector<std::int64_t> seen(job.sim.ranks(), 0);
  for (unsigned i = 0; i < operations; ++i) {
    co_await fabric::sim::think(job.random().below(idle_ns + 1));
    const Rank owner{static_cast<std::uint32_t>(job.random().below(job.sim.ranks()))};
    const Request request = draw(job.random(), owner.value == self, seen[owner.value]);
    const Decision decision = co_await table.ask(owner, request);
    seen[owner.value] = static_cast<std::int64_t>(decision.after.gbrk);
    note(job, owner, request, decision);
  }
}

// At rest each byte has as many holders as the breaks say.
bool all_is_accounted(const Job& job, std::uint32_t rank) {
  const Control& control = job.members[rank]->control;
  const Breaks& breaks = control.breaks;
  const std::array<int, capacity>& holders = job.truths[rank].holders;
  for (std::uint64_t byte = 0; byte < holders.size(); ++byte) {
    const bool is_free = (byte >= breaks.gbrk && byte < breaks.glimit) || byte >= breaks.end;
    if (holders[byte] != (is_free ? 0 : 1)) return false;
  }
  return control.lock == 0;
}

std::optional<Way> draw_way(Random& random, Way first, Way second) {
  if (random.chance(34)) return std::nullopt;
  return random.chance(50) ? first : second;
}

std::unique_ptr<Job> draw_job(Random& random, InjectedBug bug = InjectedBug::none) {
  SimBehaviour behaviour = draw_behaviour(random);
  behaviour.model.local_pointer = random.chance(30);
  const ForcedWays ways{draw_way(random, Way::local, Way::local_plus),
                        draw_way(random, Way::remote, Way::remote_plus)};
  const auto ranks = static_cast<std::uint32_t>(random.between(1, 6));
  auto job = std::make_unique<Job>(random.next(), ranks, behaviour, ways, random.below(capacity + 1), bug);
  const unsigned threads = static_cast<unsigned>(random.between(1, 3));
  for (std::uint32_t i = 0; i < ranks * threads; ++i) {
    const unsigned operations = static_cast<unsigned>(random.between(1, 30));
    job->sim.play(i % ranks, use_heaps(*job, i % ranks, operations, random.chance(50) ? 2000 : 30'000));
  }
  return job;
}

TEST(GlobalHeapProperty, NoByteHasTwoHoldersAndNoneIsLost) {
  unsigned done = 0;
  std::array<unsigned, 5> refused{};
  property::for_all(3000, [&](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random);
    ASSERT_TRUE(job->sim.run()) << "no end in sight";
    ASSERT_EQ(job->sim.waiting(), 0u) << "tasks wait for ever";
    for (std::uint32_t rank = 0; rank < job->sim.ranks(); ++rank) {
      EXPECT_TRUE(all_is_accounted(*job, rank)) << "rank " << rank;
    }
    EXPECT_EQ(job->unsound, 0u);
    done += job->done;
    for (std::size_t i = 0; i < refused.size(); ++i) refused[i] += job->refused[i];
  });
  if (std::getenv("MUSUBI_TEST_SEED") != nullptr) return;
  EXPECT_GT(done, 25'000u);
  for (const unsigned times : refused) EXPECT_GT(times, 200u);
}

TEST(GlobalHeapProperty, LockGivenBackBeforeTheBreaksIsFound) {
  unsigned found = 0;
  property::for_all(300, [&found](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random, InjectedBug::breaks_unlocked_first);
    ASSERT_TRUE(job->sim.run());
    found += job->unsound;
    for (std::uint32_t rank = 0; rank < job->sim.ranks(); ++rank) {
      if (!all_is_accounted(*job, rank)) ++found;
    }
  });
  EXPECT_GT(found, 0u);
}

TEST(GlobalHeapProperty, LockTakenFromItsHolderIsFound) {
  const auto play = [] {
    property::for_all(300, [](Random& random) {
      const std::unique_ptr<Job> job = draw_job(random, InjectedBug::heap_lock_not_tested);
      job->sim.run();
    });
  };
  EXPECT_DEATH(play(), "held == mark");
}

// Virtual time of one request to a heap that no other rank uses.
std::uint64_t duration(const fabric::sim::LatencyModel& model, Way way, const Request& request) {
  Job job(1, 2, {model, fabric::sim::Hostility::calm(), 0}, {std::nullopt, way}, 1000);
  std::vector<Decision> decisions;
  const auto ask = [&job, &decisions](const Request& wish) -> void {
    struct Asking {
      static Task<> once(Job& where, Request what, std::vector<Decision>& into) {
        into.push_back(co_await where.members[0]->table->ask(Rank{1}, what));
      }
    };
    job.sim.play(0, Asking::once(job, wish, decisions));
  };
  const std::uint64_t begin = job.sim.world().now_ns();
  ask(request);
  EXPECT_TRUE(job.sim.run());
  EXPECT_EQ(decisions.size(), 1u);
  return job.sim.world().now_ns() - begin;
}

// Paper AGH, 4.3: 25 to 37 % shorter.
TEST(GlobalHeapProperty, RemotePlusIsAQuarterShorterThanRemote) {
  for (const auto& model :
       {fabric::sim::LatencyModel::infiniband(), fabric::sim::LatencyModel::tcp_25_gbe()}) {
    for (const Request& request : {Request{Request::Kind::extend_break, 16}, Request{Request::Kind::look}}) {
      const std::uint64_t remote = duration(model, Way::remote, request);
      const std::uint64_t remote_plus = duration(model, Way::remote_plus, request);
      EXPECT_LE(remote_plus * 4, remote * 3) << remote_plus << " of " << remote << " ns";
    }
  }
}

}  // namespace
}  // namespace musubi::global_heap
