// Relocatable pages over a network as bad as the contract of the fabric allows: every word is linearizable
// while its page moves, no write is lost, no freed memory is read, every rank makes progress.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "fabric/transfer.h"
#include "linearizable.h"
#include "seeds.h"
#include "simulated_pages.h"

namespace musubi::global_pages {
namespace {

using fabric::conformance::draw_behaviour;
using fabric::conformance::SimBehaviour;
using property::WordHistory;

// Events; programs of many ranks need some millions, as each move asks all sharers repeatedly.
constexpr std::uint64_t patience = 50'000'000;

// The last word of a page is a counter for fetch_add; all other words are written with distinct values.
struct Job {
  Job(std::uint64_t seed, const PagesShape& shape, const SimBehaviour& behaviour, InjectedBug bug)
      : world(seed, shape, behaviour, bug), words(shape.page_bytes / 8 - 1) {
    histories.assign(shape.pages, std::vector<WordHistory>(words, WordHistory(0)));
    sums.assign(shape.pages, 0);
  }
  Pages& pages(std::uint32_t rank) { return *world.members[rank]->pages; }

  SimulatedPages world;
  const std::size_t words;
  std::vector<std::vector<WordHistory>> histories;
  std::vector<std::uint64_t> sums;
  std::uint64_t moment = 0;
  std::uint64_t next_value = 1;
  unsigned wrong_sums = 0;
  unsigned moved = 0;
  unsigned accesses = 0;
};

Task<Where> begin(Pages& pages, Page page, Access access) {
  if (const std::optional<Where> where = pages.begin_at_once(page.key, access)) co_return *where;
  co_return co_await pages.begin(page, access);
}

Task<> access_word(Job& job, std::uint32_t self, std::size_t index, bool is_write) {
  const Page page = job.world.page(index);
  const std::size_t word = job.world.random().below(job.words);
  const Access access = is_write ? Access::write : Access::read;
  std::uint64_t value = is_write ? job.next_value++ : 0;
  const std::uint64_t from = ++job.moment;
  const Where where = co_await begin(job.pages(self), page, access);
  if (job.world.random().chance(30)) co_await fabric::sim::think(job.world.random().below(3000));
  const fabric::Step step =
      is_write ? fabric::put(simulated_region, where.place() + word * 8, &value, sizeof value)
               : fabric::get(simulated_region, where.place() + word * 8, &value, sizeof value);
  co_await fabric::transfer(job.world.members[self]->fabric, where.owner(), std::span{&step, 1});
  job.pages(self).end(page.key, access, where);
  WordHistory& history = job.histories[index][word];
  is_write ? history.write(value, from, ++job.moment) : history.read(value, from, ++job.moment);
  ++job.accesses;
}

Task<> add(Job& job, std::uint32_t self, std::size_t index) {
  const Page page = job.world.page(index);
  const Where where = co_await begin(job.pages(self), page, Access::write);
  std::uint64_t before = 0;
  const fabric::Step step = fabric::fetch_add(simulated_region, where.place() + job.words * 8, &before, 1);
  co_await fabric::transfer(job.world.members[self]->fabric, where.owner(), std::span{&step, 1});
  job.pages(self).end(page.key, Access::write, where);
  ++job.sums[index];
}

Task<> use_pages(Job& job, std::uint32_t self, unsigned operations, std::uint64_t idle_ns) {
  Random& random = job.world.random();
  for (unsigned i = 0; i < operations; ++i) {
    co_await fabric::sim::think(random.below(idle_ns + 1));
    const std::size_t index = random.below(job.world.shape.pages);
    const unsigned kind = static_cast<unsigned>(random.below(100));
    if (kind < 25) {
      const Owned owned = co_await job.pages(self).own(job.world.page(index));
      if (owned == Owned::moved) ++job.moved;
    } else if (kind < 35) {
      co_await add(job, self, index);
    } else {
      co_await access_word(job, self, index, kind < 65);
    }
  }
}

std::unique_ptr<Job> draw_job(Random& random, bool by_homes, InjectedBug bug = InjectedBug::none) {
  SimBehaviour behaviour = draw_behaviour(random);
  behaviour.model.local_pointer = random.chance(30);
  PagesShape shape;
  shape.ranks = static_cast<std::uint32_t>(random.between(1, 5));
  if (random.chance(1)) shape.ranks = 66;
  shape.pages = random.between(1, 6);
  shape.slots = random.between(1, 5);
  shape.page_bytes = 16 << random.below(3);
  shape.frames = shape.pages + random.below(8);
  shape.by_processor = random.chance(50);
  shape.by_homes = by_homes;
  auto job = std::make_unique<Job>(random.next(), shape, behaviour, bug);
  const unsigned threads = shape.ranks > 8 ? 1 : static_cast<unsigned>(random.between(1, 3));
  for (std::uint32_t i = 0; i < shape.ranks * threads; ++i) {
    const unsigned operations = static_cast<unsigned>(random.between(1, 20));
    job->world.sim.play(i % shape.ranks,
                        use_pages(*job, i % shape.ranks, operations, random.chance(50) ? 2000 : 30'000));
  }
  return job;
}

// The invariants that hold when nothing is in flight.
void expect_rest(Job& job) {
  SimulatedPages& world = job.world;
  std::size_t free_frames = 0;
  for (const auto& member : world.members) {
    free_frames += member->free_frames();
    for (std::size_t i = 0; i < world.shape.slots; ++i) {
      const Slot& slot = member->own_slots()[i];
      EXPECT_EQ(slot.lock, unlocked);
      EXPECT_EQ(slot.writes + slot.reads[0] + slot.reads[1], 0u);
      if (slot.page == 0) continue;
      const Page page = world.page(slot.page / 4096 - 1);
      EXPECT_EQ(world.members[page.home.value]->entry(page).where, slot.where) << "page " << slot.page;
    }
  }
  EXPECT_EQ(free_frames, world.shape.ranks * world.shape.frames - world.shape.pages);
  for (std::size_t index = 0; index < world.shape.pages; ++index) {
    const Page page = world.page(index);
    const Entry& entry = world.members[page.home.value]->entry(page);
    EXPECT_EQ(entry.mover, unlocked);
    const std::byte* const bytes = world.members[entry.where.owner().value]->memory.data();
    std::uint64_t sum = 0;
    std::memcpy(&sum, bytes + entry.where.place() + job.words * 8, sizeof sum);
    EXPECT_EQ(sum, job.sums[index]) << "sum of page " << index;
  }
}

bool all_words_are_linearizable(const Job& job) {
  for (const auto& page : job.histories) {
    for (const WordHistory& word : page) {
      if (!word.is_linearizable()) return false;
    }
  }
  return true;
}

class RelocationProperty : public testing::TestWithParam<bool> {};

TEST_P(RelocationProperty, WordsAreLinearizableWhilePagesMove) {
  unsigned moved = 0, accesses = 0;
  const unsigned programs = property::programs(10'000);
  property::for_all(programs, [&](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random, GetParam());
    ASSERT_TRUE(job->world.sim.run(patience)) << "no end in sight";
    ASSERT_EQ(job->world.sim.waiting(), 0u) << "tasks wait for ever";
    EXPECT_TRUE(all_words_are_linearizable(*job));
    expect_rest(*job);
    moved += job->moved;
    accesses += job->accesses;
  });
  if (std::getenv("MUSUBI_TEST_SEED") != nullptr) return;
  EXPECT_GT(moved, 6 * programs);
  EXPECT_GT(accesses, 20 * programs);
}

constexpr auto name_of_directory = [](bool by_homes) { return by_homes ? "ByHomes" : "OneSided"; };

INSTANTIATE_TEST_SUITE_P(Directories, RelocationProperty, testing::Bool(),
                         [](const auto& by_homes) { return name_of_directory(by_homes.param); });

class RelocationBug : public testing::TestWithParam<std::tuple<InjectedBug, bool>> {};

// Some faults need a slot that is emptied at the wrong moment: one of a thousand programs.
TEST_P(RelocationBug, IsFound) {
  constexpr std::uint64_t programs = 5000;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    Random random(seed);
    const std::unique_ptr<Job> job =
        draw_job(random, std::get<bool>(GetParam()), std::get<InjectedBug>(GetParam()));
    if (!job->world.sim.run(patience) || job->world.sim.waiting() != 0 || !all_words_are_linearizable(*job))
      return;
  }
  FAIL() << "not found in " << programs << " programs";
}

constexpr auto name_of_hunt = [](const auto& hunt) {
  const auto [bug, by_homes] = hunt.param;
  return std::string(name_of(bug)) + name_of_directory(by_homes);
};

INSTANTIATE_TEST_SUITE_P(Bugs, RelocationBug,
                         testing::Combine(testing::Values(InjectedBug::page_sharer_not_told,
                                                          InjectedBug::page_writes_not_awaited,
                                                          InjectedBug::page_reads_not_awaited,
                                                          InjectedBug::page_resumed_with_old_place,
                                                          InjectedBug::page_resumed_one_by_one,
                                                          InjectedBug::page_emptied_slot_not_awaited),
                                          testing::Bool()),
                         name_of_hunt);
INSTANTIATE_TEST_SUITE_P(BugsOfHomes, RelocationBug,
                         testing::Combine(testing::Values(InjectedBug::page_taken_twice),
                                          testing::Values(true)),
                         name_of_hunt);

}  // namespace
}  // namespace musubi::global_pages
