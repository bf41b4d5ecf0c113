// Whole pages of global heaps over a network as bad as the contract of the fabric allows: no page has two
// holders, none is lost, and returned pages are given out again.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "seeds.h"
#include "simulated_heap.h"

namespace musubi::global_heap {
namespace {

using fabric::conformance::draw_behaviour;

struct Extent {
  Rank owner;
  std::uint64_t first;
  std::uint64_t pages;
};

struct Job {
  Job(std::uint64_t seed, std::uint32_t ranks, const fabric::conformance::SimBehaviour& behaviour,
      std::uint64_t size, InjectedBug bug)
      : heaps(seed, ranks, behaviour, 1 << 20, size, false, bug),
        holders(ranks, std::vector<int>(heaps.capacity() / page_bytes + 1)),
        edges(ranks, std::vector<bool>(heaps.capacity() / page_bytes + 1)) {}

  // False: another rank has one of them already.
  bool hold(const Extent& extent) {
    bool all_were_free = true;
    for (std::uint64_t page = extent.first; page < extent.first + extent.pages; ++page) {
      if (holders[extent.owner.value].at(page)++ != 0) all_were_free = false;
    }
    return all_were_free;
  }
  void let_go(const Extent& extent) {
    for (std::uint64_t page = extent.first; page < extent.first + extent.pages; ++page) {
      --holders[extent.owner.value].at(page);
    }
  }
  // Bytes of a break or a limit: no other holder can use the pages at the edges.
  bool hold_bytes(Rank owner, std::uint64_t begin, std::uint64_t end) {
    edges[owner.value].at(begin / page_bytes) = edges[owner.value].at(end / page_bytes) = true;
    const std::uint64_t first = round_up(begin, page_bytes) / page_bytes;
    const std::uint64_t last = end / page_bytes;
    return last <= first || hold({owner, first, last - first});
  }

  SimulatedHeaps heaps;
  std::vector<std::vector<int>> holders;  // holders of each rank's pages
  std::vector<std::vector<bool>> edges;
  std::deque<Extent> mapped;  // any rank may give these back
  unsigned taken = 0, refused = 0, wrong = 0;
};

Task<> take_some(Job& job, Pages& pages, Rank owner) {
  Random& random = job.heaps.random();
  const std::uint64_t wish = random.chance(10) ? random.between(50, 300) : random.between(1, 12);
  const std::uint64_t alignment = page_bytes << (random.chance(60) ? 0 : random.below(5));
  const bool for_good = random.chance(10);
  const std::optional<std::uint64_t> begin =
      co_await pages.take(owner, wish * page_bytes - random.below(100), alignment,
                          for_good ? PageState::other : PageState::mapped);
  if (!begin) {
    ++job.refused;
    co_return;
  }
  ++job.taken;
  const Extent extent{owner, *begin / page_bytes, wish};
  if (!job.hold(extent) || *begin % alignment != 0) ++job.wrong;
  if (!for_good) job.mapped.push_back(extent);
}

// All or a part of an extent in use.
Task<> give_some(Job& job, Pages& pages) {
  Random& random = job.heaps.random();
  if (job.mapped.empty()) co_return;
  Extent extent = job.mapped.front();
  job.mapped.pop_front();
  if (extent.pages > 1 && random.chance(40)) {
    const std::uint64_t kept = random.between(1, extent.pages - 1);
    job.mapped.push_back({extent.owner, extent.first + extent.pages - kept, kept});
    extent.pages -= kept;
  }
  job.let_go(extent);
  const PageState unlike = co_await pages.give_back(extent.owner, extent.first, extent.pages);
  if (unlike != PageState::mapped) ++job.wrong;
}

// Page 0 is never mapped: at first every rank takes some of it by the break.
Task<> give_wrongly(Job& job, Pages& pages, Rank owner) {
  const PageState unlike =
      co_await pages.give_back(owner, 0, job.heaps.random().between(1, job.heaps.capacity() / page_bytes));
  if (unlike != PageState::other) ++job.wrong;
}

Task<> use_break(Job& job, BreakTable& table, Rank owner, std::int64_t bytes) {
  const Decision decision = co_await table.ask(owner, {Request::Kind::extend_break, bytes});
  if (decision.refusal != Refusal::none) co_return;
  if (!job.hold_bytes(owner, decision.before.gbrk, decision.after.gbrk)) ++job.wrong;
}

Task<> use_pages(Job& job, std::uint32_t self, unsigned operations) {
  SimulatedMember& member = *job.heaps.members[self];
  Random& random = job.heaps.random();
  for (Rank owner{0}; owner.value < job.heaps.sim.ranks(); ++owner.value) {
    co_await use_break(job, *member.table, owner, 1);
  }
  for (unsigned i = 0; i < operations; ++i) {
    co_await fabric::sim::think(random.below(2000));
    const Rank owner = job.heaps.any_rank();
    const std::uint64_t choice = random.below(100);
    if (choice < 50) {
      co_await take_some(job, *member.pages, owner);
    } else if (choice < 90) {
      co_await give_some(job, *member.pages);
    } else if (choice < 95) {
      co_await give_wrongly(job, *member.pages, owner);
    } else {
      co_await use_break(job, *member.table, owner, static_cast<std::int64_t>(random.below(10'000)));
    }
  }
}

std::unique_ptr<Job> draw_job(Random& random, InjectedBug bug = InjectedBug::none) {
  const auto ranks = static_cast<std::uint32_t>(random.between(1, 4));
  const std::uint64_t size = random.chance(50) ? 4096 : random.between(4096, 900'000);
  auto job = std::make_unique<Job>(random.next(), ranks, draw_behaviour(random), size, bug);
  for (Rank owner{0}; owner.value < ranks; ++owner.value) {  // local memory at the end of some heaps
    const std::uint64_t limit = random.chance(50) ? size : size - random.below(size - 100);
    job->heaps.members[owner.value]->table->open({0, limit, size, 0});
    job->hold_bytes(owner, limit, size);
  }
  const auto threads = static_cast<unsigned>(random.between(1, 3));
  for (std::uint32_t i = 0; i < ranks * threads; ++i) {
    job->heaps.sim.play(i % ranks, use_pages(*job, i % ranks, static_cast<unsigned>(random.between(1, 25))));
  }
  return job;
}

// At rest: the states name the holder of each page, and the pool counts its own pages.
bool is_accounted(const Job& job, std::uint32_t rank) {
  const SimulatedMember& member = *job.heaps.members[rank];
  const auto pool = member.read<PagePool>(member.layout.page_pool_at());
  PageStates states;
  std::uint64_t free = 0;
  for (std::uint64_t page = 0; page < job.heaps.capacity() / page_bytes; ++page) {
    states.first = page / pages_per_byte * pages_per_byte;
    states.packed[0] = member.read<std::uint8_t>(member.layout.page_states_at(page));
    const PageState state = states.at(page);
    const bool is_held = job.holders[rank][page] != 0;
    if (job.holders[rank][page] > 1 || (state == PageState::free && is_held)) return false;
    if (state == PageState::mapped && !is_held) return false;
    if (state == PageState::free && (page < pool.low || page >= pool.high)) return false;
    if (state == PageState::free) ++free;
    const bool is_lost = state == PageState::other && !is_held && !job.edges[rank][page];
    if (is_lost && (page + 1) * page_bytes <= job.heaps.breaks(rank).gbrk) return false;
  }
  return free == pool.free && pool.lock == 0;
}

TEST(GlobalPagesProperty, NoPageHasTwoHoldersAndNoneIsLost) {
  unsigned taken = 0, refused = 0;
  property::for_all(1500, [&](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random);
    ASSERT_TRUE(job->heaps.sim.run()) << "no end in sight";
    ASSERT_EQ(job->heaps.sim.waiting(), 0u) << "tasks wait for ever";
    EXPECT_EQ(job->wrong, 0u);
    for (std::uint32_t rank = 0; rank < job->heaps.sim.ranks(); ++rank) EXPECT_TRUE(is_accounted(*job, rank));
    taken += job->taken;
    refused += job->refused;
  });
  if (std::getenv("MUSUBI_TEST_SEED") != nullptr) return;
  EXPECT_GT(taken, 10'000u);
  EXPECT_GT(refused, 500u);
}

Task<> fill(Pages& pages, std::uint64_t each, std::vector<std::uint64_t>& got) {
  for (;;) {
    const std::optional<std::uint64_t> begin =
        co_await pages.take(Rank{0}, each * page_bytes, page_bytes, PageState::mapped);
    if (!begin) co_return;
    got.push_back(*begin / page_bytes);
  }
}
Task<> give_back_all(Pages& pages, std::uint64_t each, std::vector<std::uint64_t>& got, unsigned& wrong) {
  for (const std::uint64_t first : got) {
    const PageState unlike = co_await pages.give_back(Rank{0}, first, each);
    if (unlike != PageState::mapped) ++wrong;
    const PageState again = co_await pages.give_back(Rank{0}, first, each);
    if (again != PageState::free) ++wrong;
  }
}

// In any order, whatever their sizes were: neighbours are merged.
TEST(GlobalPagesProperty, PagesGivenBackJoinToOneRunOfAll) {
  property::for_all(30, [](Random& random) {
    SimulatedHeaps heaps(random.next(), 2, draw_behaviour(random), 1 << 20, 5000);
    Pages& pages = *heaps.members[1]->pages;
    const std::uint64_t all = heaps.capacity() / page_bytes;
    std::vector<std::uint64_t> got, once;
    unsigned wrong = 0;
    heaps.sim.play(1, fill(pages, 1, got));
    ASSERT_TRUE(heaps.sim.run());
    EXPECT_EQ(got.size(), all);
    for (std::size_t i = got.size(); i > 1; --i) std::swap(got[i - 1], got[random.below(i)]);
    heaps.sim.play(1, give_back_all(pages, 1, got, wrong));
    ASSERT_TRUE(heaps.sim.run());
    EXPECT_EQ(wrong, 0u);
    heaps.sim.play(1, fill(pages, all, once));
    ASSERT_TRUE(heaps.sim.run());
    EXPECT_EQ(once, std::vector<std::uint64_t>{0});
  });
}

TEST(GlobalPagesProperty, LockGivenBackBeforeThePoolIsFound) {
  unsigned found = 0;
  property::for_all(200, [&found](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random, InjectedBug::page_pool_unlocked_first);
    ASSERT_TRUE(job->heaps.sim.run());
    found += job->wrong;
    for (std::uint32_t rank = 0; rank < job->heaps.sim.ranks(); ++rank) {
      if (!is_accounted(*job, rank)) ++found;
    }
  });
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace musubi::global_heap
