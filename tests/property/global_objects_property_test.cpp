// Objects of global heaps over a network as bad as the contract of the fabric allows: none is given
// out twice, none is lost, and every wrong free is refused.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "object_accounts.h"
#include "seeds.h"
#include "simulated_heap.h"

namespace musubi::global_heap {
namespace {

using fabric::conformance::draw_behaviour;

struct Object {
  Rank owner;
  std::uint64_t offset;
  std::uint64_t bytes;
};

struct Job {
  Job(std::uint64_t seed, std::uint32_t ranks, const fabric::conformance::SimBehaviour& behaviour,
      std::uint64_t bytes, bool full_checks, InjectedBug bug)
      : heaps(seed, ranks, behaviour, bytes, 5000, full_checks, bug), live(ranks) {}

  SimulatedHeaps heaps;
  std::vector<LiveMemory> live;
  std::deque<Object> objects, pages;  // any rank may free these
  std::vector<std::unique_ptr<ObjectCache>> caches;
  unsigned allocated = 0, full = 0, wrong = 0;
};

std::uint64_t draw_bytes(Random& random) {
  const std::uint64_t bounds[]{0, 64, 2000, 16'000, 65'000, 260'000, 700'000};
  const std::uint64_t choice = random.below(100);
  const std::size_t kind = choice < 35   ? 0
                           : choice < 60 ? 1
                           : choice < 75 ? 2
                           : choice < 90 ? 3
                           : choice < 95 ? 4
                                         : 5;
  return random.between(bounds[kind], bounds[kind + 1]);
}

Task<> allocate_one(Job& job, ObjectAllocator& objects, ObjectCache& cache) {
  const Rank owner = job.heaps.any_rank();
  const std::uint64_t bytes = draw_bytes(job.heaps.random());
  std::optional<std::uint64_t> offset = objects.allocate_at_once(cache, owner, bytes);
  if (!offset) offset = co_await objects.allocate(cache, owner, bytes);
  if (!offset) {
    ++job.full;
    co_return;
  }
  ++job.allocated;
  if (!job.live[owner.value].add(*offset, bytes)) ++job.wrong;
  job.objects.push_back({owner, *offset, bytes});
}

Task<Freed> free_once(ObjectAllocator& objects, ObjectCache& cache, Rank owner, std::uint64_t offset) {
  const std::optional<Freed> freed = objects.free_at_once(cache, owner, offset);
  if (freed) co_return *freed;
  co_return co_await objects.free(cache, owner, offset);
}

Task<> free_one(Job& job, ObjectAllocator& objects, ObjectCache& cache) {
  if (job.objects.empty()) co_return;
  const Object object = job.objects.front();
  job.objects.pop_front();
  Random& random = job.heaps.random();
  if (object.bytes > granule_bytes && random.chance(10)) {
    const Freed inside = co_await free_once(objects, cache, object.owner, object.offset + granule_bytes);
    const Freed odd = co_await free_once(objects, cache, object.owner, object.offset + 1);
    if (inside != Freed::no_object || odd != Freed::no_object) ++job.wrong;
  }
  job.live[object.owner.value].remove(object.offset);
  const Freed freed = co_await free_once(objects, cache, object.owner, object.offset);
  if (freed != Freed::done) ++job.wrong;
  if (object.bytes > object_bytes(cached_class_count - 1) || !random.chance(20)) co_return;
  const Freed again = co_await free_once(objects, cache, object.owner, object.offset);
  if (again != Freed::free_already) ++job.wrong;
}

// Pages and bytes of the break come from between the spans.
Task<> use_others(Job& job, SimulatedMember& member, ObjectCache& cache) {
  const Rank owner = job.heaps.any_rank();
  const std::uint64_t bytes = job.heaps.random().between(1, 20) * page_bytes;
  const std::optional<std::uint64_t> begin =
      co_await member.pages->take(owner, bytes, page_bytes, PageState::mapped);
  if (begin) {
    if (!job.live[owner.value].add(*begin, bytes)) ++job.wrong;
    const Freed freed = co_await free_once(*member.objects, cache, owner, *begin);
    if (freed != Freed::no_object) ++job.wrong;
    job.pages.push_back({owner, *begin, bytes});
  }
  const Decision decision = co_await member.table->ask(owner, {Request::Kind::extend_break, 3000});
  if (decision.refusal == Refusal::none && !job.live[owner.value].add(decision.before.gbrk, 3000))
    ++job.wrong;
  if (job.pages.empty() || job.heaps.random().chance(50)) co_return;
  const Object mapped = job.pages.front();
  job.pages.pop_front();
  job.live[mapped.owner.value].remove(mapped.offset);
  co_await member.pages->give_back(mapped.owner, mapped.offset / page_bytes, mapped.bytes / page_bytes);
}

Task<> use_objects(Job& job, std::uint32_t self, ObjectCache& cache, unsigned operations, bool keeps) {
  SimulatedMember& member = *job.heaps.members[self];
  Random& random = job.heaps.random();
  for (unsigned i = 0; i < operations; ++i) {
    co_await fabric::sim::think(random.below(2000));
    const std::uint64_t choice = random.below(100);
    if (choice < 52) {
      co_await allocate_one(job, *member.objects, cache);
    } else if (choice < 92) {
      co_await free_one(job, *member.objects, cache);
    } else if (choice < 96) {
      co_await member.objects->flush(cache);
    } else {
      co_await use_others(job, member, cache);
    }
  }
  if (!keeps) co_await member.objects->flush(cache);
}

Task<> free_all(Job& job, std::uint32_t self, ObjectCache& cache) {
  ObjectAllocator& objects = *job.heaps.members[self]->objects;
  while (!job.objects.empty()) co_await free_one(job, objects, cache);
  co_await objects.flush(cache);
}

std::unique_ptr<Job> draw_job(Random& random, InjectedBug bug = InjectedBug::none) {
  const auto ranks = static_cast<std::uint32_t>(random.between(1, 4));
  const std::uint64_t bytes =
      random.chance(20) ? random.between(100'000, 1'500'000) : std::uint64_t{24} << 20;
  auto job =
      std::make_unique<Job>(random.next(), ranks, draw_behaviour(random), bytes, random.chance(40), bug);
  const auto threads = static_cast<unsigned>(random.between(1, 3));
  for (std::uint32_t i = 0; i < ranks * threads; ++i) {
    ObjectCache& cache = *job->caches.emplace_back(std::make_unique<ObjectCache>(ranks));
    const auto operations = static_cast<unsigned>(random.between(1, random.chance(20) ? 300 : 60));
    job->heaps.sim.play(i % ranks, use_objects(*job, i % ranks, cache, operations, random.chance(50)));
  }
  return job;
}

// Runs the job, frees all remaining objects, and counts the errors in the end.
unsigned play(Job& job) {
  EXPECT_TRUE(job.heaps.sim.run()) << "no end in sight";
  const auto ranks = job.heaps.sim.ranks();
  for (std::uint32_t i = 0; i < job.caches.size(); ++i) {
    job.heaps.sim.play(i % ranks, free_all(job, i % ranks, *job.caches[i]));
  }
  EXPECT_TRUE(job.heaps.sim.run()) << "no end in sight";
  EXPECT_EQ(job.heaps.sim.waiting(), 0u) << "tasks wait for ever";
  unsigned wrong = job.wrong;
  std::size_t pending = 0;
  for (const auto& member : job.heaps.members) {
    pending += member->objects->pending();
    wrong += member->objects->found_late() != 0 ? 1 : 0;
  }
  for (const auto& member : job.heaps.members) {
    const ObjectAccounts accounts(*member);
    if (!accounts.are_sound() || (pending == 0 && !accounts.are_complete())) ++wrong;
  }
  return wrong;
}

TEST(GlobalObjectsProperty, NoObjectIsGivenOutTwiceAndNoneIsLost) {
  unsigned allocated = 0, full = 0;
  property::for_all(600, [&](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random);
    EXPECT_EQ(play(*job), 0u);
    allocated += job->allocated;
    full += job->full;
  });
  if (std::getenv("MUSUBI_TEST_SEED") != nullptr) return;
  EXPECT_GT(allocated, 40'000u);
  EXPECT_GT(full, 500u);
}

class GlobalObjectsBug : public testing::TestWithParam<InjectedBug> {};

TEST_P(GlobalObjectsBug, IsFound) {
  unsigned found = 0;
  const auto look = [&found] {
    property::for_all(4000, [&found](Random& random) {
      if (found == 0) found += play(*draw_job(random, GetParam()));
    });
    if (found != 0) std::_Exit(1);
  };
  // Some errors end in a failed check.
  EXPECT_EXIT(
      look(), [](int status) { return status != 0; }, "");
}
INSTANTIATE_TEST_SUITE_P(All, GlobalObjectsBug,
                         testing::Values(InjectedBug::heap_head_not_tagged,
                                         InjectedBug::heap_batch_shown_first,
                                         InjectedBug::heap_span_not_told));

}  // namespace
}  // namespace musubi::global_heap
