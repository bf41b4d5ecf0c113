// Number of fabric operations for objects of another rank, and the behaviour of a full heap.
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <vector>

#include "object_accounts.h"
#include "simulated_heap.h"

namespace musubi::global_heap {
namespace {

// Counts the batches of operations that are posted.
class CountingFabric final : public fabric::Fabric {
 public:
  explicit CountingFabric(fabric::Fabric& below) : below_(below) {}
  unsigned posted() const { return posted_; }

  Rank self() const noexcept override { return below_.self(); }
  std::uint32_t ranks() const noexcept override { return below_.ranks(); }
  fabric::Capabilities capabilities(Rank peer) const noexcept override { return below_.capabilities(peer); }
  fabric::Outcome post(Rank peer, std::span<const fabric::Step> steps, Event& completion) noexcept override {
    ++posted_;
    return below_.post(peer, steps, completion);
  }
  fabric::Outcome send(Rank peer, fabric::MessageKind kind, fabric::Urgency urgency,
                       std::span<const std::byte> body) noexcept override {
    return below_.send(peer, kind, urgency, body);
  }
  void offer(fabric::ProcedureId id, fabric::Procedure procedure) noexcept override {
    below_.offer(id, procedure);
  }
  void listen(fabric::MessageKind kind, fabric::Listener* listener) noexcept override {
    below_.listen(kind, listener);
  }
  bool progress() noexcept override { return below_.progress(); }
  void wait(const std::atomic<bool>& ready) noexcept override { below_.wait(ready); }
  void wake() noexcept override { below_.wake(); }
  void wait_for_service() noexcept override { below_.wait_for_service(); }
  void wake_service() noexcept override { below_.wake_service(); }
  std::byte* direct(Rank peer, fabric::RegionId region) noexcept override {
    return below_.direct(peer, region);
  }
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override {
    return below_.watch(word, unwanted);
  }

 private:
  fabric::Fabric& below_;
  unsigned posted_ = 0;
};

constexpr Rank owner{1};

// Rank 0 over a benign network that counts; the heap is rank 1's.
struct World {
  explicit World(bool full_checks = false, std::uint64_t bytes = std::uint64_t{8} << 20)
      : heaps(1, 2, {}, bytes, 5000, full_checks),
        fabric(heaps.sim.node(0)),
        pages(fabric, heaps.members[0]->layout, *heaps.members[0]->table),
        objects(fabric, heaps.members[0]->layout, pages, full_checks),
        cache(2) {}

  // Each runs to its end.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes) {
    if (const auto offset = objects.allocate_at_once(cache, owner, bytes)) return offset;
    std::optional<std::uint64_t> offset;
    heaps.sim.play(0, allocate_into(*this, bytes, offset));
    EXPECT_TRUE(heaps.sim.run());
    return offset;
  }
  Freed free(std::uint64_t offset) {
    if (const auto freed = objects.free_at_once(cache, owner, offset)) return *freed;
    std::optional<Freed> freed;
    heaps.sim.play(0, free_into(*this, offset, freed));
    EXPECT_TRUE(heaps.sim.run());
    return freed.value();
  }
  void flush() {
    heaps.sim.play(0, objects.flush(cache));
    EXPECT_TRUE(heaps.sim.run());
  }

  static Task<> allocate_into(World& world, std::uint64_t bytes, std::optional<std::uint64_t>& offset) {
    offset = co_await world.objects.allocate(world.cache, owner, bytes);
  }
  static Task<> free_into(World& world, std::uint64_t offset, std::optional<Freed>& freed) {
    freed = co_await world.objects.free(world.cache, owner, offset);
  }

  SimulatedHeaps heaps;
  CountingFabric fabric;
  Pages pages;
  ObjectAllocator objects;
  ObjectCache cache;
};

// The objects freed first, of the size taken first, which are in a batch.
std::uint64_t first_of_span(const World& world) {
  for (std::uint64_t unit = 0;; ++unit) {
    const SimulatedMember& member = *world.heaps.members[1];
    if (SpanWord(member.read<std::uint64_t>(member.layout.directory_at(unit))).word() != 0) {
      return unit * unit_bytes;
    }
  }
}

TEST(GlobalObjectCosts, CachedPairOfAnySmallSizeMakesNoOperation) {
  World world;
  for (std::uint64_t bytes = 1; bytes <= object_bytes(cached_class_count - 1); bytes = bytes * 3 + 1) {
    const std::optional<std::uint64_t> first = world.allocate(bytes);
    ASSERT_TRUE(first.has_value());
    const unsigned before = world.fabric.posted();
    for (unsigned i = 0; i < 1000; ++i) {
      EXPECT_EQ(world.free(*first), Freed::done);
      EXPECT_EQ(world.allocate(bytes), first);
    }
    EXPECT_EQ(world.fabric.posted(), before) << bytes;
  }
}

// A thread at the edge of a magazine does not access the heap at each step.
TEST(GlobalObjectCosts, BurstsWithinTheMagazinesMakeNoOperation) {
  World world;
  std::vector<std::uint64_t> held;
  for (unsigned i = 0; i < 3 * batch_objects_max; ++i) held.push_back(world.allocate(64).value());
  for (const std::uint64_t offset : held) world.free(offset);
  const unsigned before = world.fabric.posted();
  for (unsigned round = 0; round < 100; ++round) {
    for (unsigned i = 0; i < batch_objects_max; ++i) held[i] = world.allocate(64).value();
    for (unsigned i = 0; i < batch_objects_max; ++i) world.free(held[i]);
  }
  EXPECT_EQ(world.fabric.posted(), before);
}

TEST(GlobalObjectCosts, ObjectsThatTravelInBatchesCostLessThanAnOperationInThree) {
  World world;
  constexpr unsigned objects = 100 * batch_objects_max;
  std::vector<std::uint64_t> held;
  for (unsigned round = 0; round < 2; ++round) {
    const unsigned before = world.fabric.posted();
    for (unsigned i = 0; i < objects; ++i) held.push_back(world.allocate(64).value());
    for (const std::uint64_t offset : held) EXPECT_EQ(world.free(offset), Freed::done);
    EXPECT_LE((world.fabric.posted() - before) * 3, objects) << round;
    held.clear();
  }
}

TEST(GlobalObjectCosts, FullChecksLookAtTheHeapEachTime) {
  World world(true);
  const std::uint64_t object = world.allocate(64).value();
  const unsigned before = world.fabric.posted();
  EXPECT_EQ(world.free(object), Freed::done);
  EXPECT_EQ(world.allocate(64), object);
  EXPECT_EQ(world.fabric.posted() - before, 3u);  // look and change; change
}

// A double free that another rank's cache hides is found when the object returns to the rank that still
// caches it; from then on the object is given out once.
TEST(GlobalObjectCosts, DoubleFreeByTwoRanksIsFoundWhenTheObjectComesBack) {
  World world;
  SimulatedMember& other = *world.heaps.members[1];
  ObjectCache others(2);
  const std::uint64_t object = world.allocate(64).value();
  EXPECT_EQ(world.free(object), Freed::done);
  struct Rank1 {
    static Task<> free_and_flush(ObjectAllocator& objects, ObjectCache& cache, std::uint64_t offset,
                                 Freed& freed) {
      freed = co_await objects.free(cache, owner, offset);
      co_await objects.flush(cache);
    }
  };
  Freed freed = Freed::no_object;
  world.heaps.sim.play(1, Rank1::free_and_flush(*other.objects, others, object, freed));
  ASSERT_TRUE(world.heaps.sim.run());
  EXPECT_EQ(freed, Freed::done);
  EXPECT_EQ(world.objects.found_late(), 0u);
  ObjectCache second(2);  // of another thread of rank 0
  std::optional<std::uint64_t> next;
  struct Thread {
    static Task<> allocate(ObjectAllocator& objects, ObjectCache& cache,
                           std::optional<std::uint64_t>& offset) {
      offset = co_await objects.allocate(cache, owner, 64);
    }
  };
  world.heaps.sim.play(0, Thread::allocate(world.objects, second, next));
  ASSERT_TRUE(world.heaps.sim.run());
  EXPECT_EQ(world.objects.found_late(), 1u);
  EXPECT_NE(next.value(), object);
  EXPECT_EQ(world.allocate(64), object);
}

TEST(GlobalObjectCosts, FullChecksFindAtOnceWhatTheOtherRankHides) {
  World world(true);
  SimulatedMember& other = *world.heaps.members[1];
  ObjectCache others(2);
  const std::uint64_t object = world.allocate(64).value();
  EXPECT_EQ(world.free(object), Freed::done);
  struct Rank1 {
    static Task<> free(ObjectAllocator& objects, ObjectCache& cache, std::uint64_t offset, Freed& freed) {
      freed = co_await objects.free(cache, owner, offset);
    }
  };
  Freed again = Freed::done, never = Freed::done;
  world.heaps.sim.play(1, Rank1::free(*other.objects, others, object, again));
  world.heaps.sim.play(1, Rank1::free(*other.objects, others, object + 64, never));
  ASSERT_TRUE(world.heaps.sim.run());
  EXPECT_EQ(again, Freed::free_already);
  EXPECT_EQ(never, Freed::free_already);
}

// All memory that was taken, size by size, can be taken again, and a heap so full that it has no memory for
// nodes loses nothing.
TEST(GlobalObjectCosts, FullHeapTakesBackWhatItGaveAndGivesItAgain) {
  World world(false, 600'000);
  for (const std::uint64_t bytes : {std::uint64_t{1000}, std::uint64_t{1000}, std::uint64_t{990}}) {
    std::vector<std::uint64_t> held;
    while (const auto offset = world.allocate(bytes)) held.push_back(*offset);
    const std::uint64_t units = world.heaps.capacity() / unit_bytes;
    EXPECT_EQ(held.size(), units * span_objects(class_of(bytes)));
    EXPECT_FALSE(world.allocate(16).has_value());
    for (const std::uint64_t offset : held) EXPECT_EQ(world.free(offset), Freed::done);
    world.flush();
    EXPECT_GT(world.objects.pending(), 0u);
  }
}

// An object that a process has never seen arrives with everything that is needed to free it.
TEST(GlobalObjectCosts, ObjectOfABatchIsFreedWithoutALook) {
  World world;
  EXPECT_EQ(world.free(world.allocate(64).value()), Freed::done);
  world.flush();
  ObjectAllocator other_process(world.fabric, world.heaps.members[0]->layout, world.pages, false);
  std::optional<std::uint64_t> object;
  struct Thread {
    static Task<> allocate(ObjectAllocator& objects, ObjectCache& cache,
                           std::optional<std::uint64_t>& offset) {
      offset = co_await objects.allocate(cache, owner, 64);
    }
  };
  ObjectCache cache(2);
  for (unsigned i = 0; i < 2; ++i) {  // the run of the rest is on top
    world.heaps.sim.play(0, Thread::allocate(other_process, cache, object));
    ASSERT_TRUE(world.heaps.sim.run());
    if (*object == first_of_span(world)) break;
    ObjectCache next(2);
    std::swap(cache, next);
  }
  ASSERT_EQ(object, first_of_span(world));
  EXPECT_EQ(other_process.free_at_once(cache, owner, *object), Freed::done);
}

// In a heap with room, any rank can use everything freed by a thread that ends.
TEST(GlobalObjectCosts, WhatAFlushedCacheHeldIsThereForOthers) {
  World world;
  std::vector<std::uint64_t> held;
  for (unsigned i = 0; i < 200; ++i) held.push_back(world.allocate(3000).value());
  const std::uint64_t taken = world.heaps.breaks(1).gbrk;
  for (const std::uint64_t offset : held) world.free(offset);
  world.flush();
  EXPECT_TRUE(ObjectAccounts(*world.heaps.members[1]).are_complete());
  const std::uint64_t with_nodes = world.heaps.breaks(1).gbrk;
  EXPECT_LE(with_nodes - taken, unit_bytes);
  for (unsigned i = 0; i < 200; ++i) EXPECT_TRUE(world.allocate(3000).has_value());
  EXPECT_EQ(world.heaps.breaks(1).gbrk, with_nodes);
}

TEST(GlobalObjectCosts, NodesOfBatchesAreNoObjects) {
  World world;
  const std::uint64_t object = world.allocate(1000).value();
  EXPECT_EQ(world.free(object), Freed::done);
  world.flush();
  const std::uint64_t nodes = world.heaps.breaks(1).gbrk - unit_bytes;  // the newest span
  const SimulatedMember& member = *world.heaps.members[1];
  const SpanWord span(member.read<std::uint64_t>(member.layout.directory_at(nodes / unit_bytes)));
  ASSERT_EQ(span.size_class(), SpanWord::nodes);
  EXPECT_EQ(world.free(nodes), Freed::no_object);
  EXPECT_EQ(world.free(nodes + node_bytes), Freed::no_object);
}

}  // namespace
}  // namespace musubi::global_heap
