#include "heap/heap_messages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "stand_in_runtime.h"

namespace musubi::heap {
namespace {

using Notes = std::vector<std::string>;

struct World {
  static constexpr std::size_t part_bytes = std::size_t{64} << 20;

  StandInRuntime runtime;
  MappedMemory mapped{process_heap};
  HeapMessages messages{runtime, process_heap, mapped};

  World() {
    void* const base = mmap(nullptr, 3 * part_bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!process_heap.share({reinterpret_cast<std::uintptr_t>(base), part_bytes, Rank{0}, 3, 32768}, {},
                            messages))
      abort();
  }
};

World& world() {
  static World the_world;
  return the_world;
}

std::uintptr_t allocate(std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(process_heap.allocate_shared(bytes));
}

TEST(HeapMessages, FreesAreSentTogetherAfterOneRelease) {
  World& here = world();
  here.runtime.notes.clear();
  for (std::size_t i = 0; i + 1 < HeapMessages::unsent_max; ++i) here.messages.release(Rank{2}, 1000 + i, 0);
  EXPECT_EQ(here.runtime.notes, Notes{});
  here.messages.release(Rank{1}, 5, 0);
  ASSERT_EQ(here.runtime.notes.size(), 1 + HeapMessages::unsent_max);
  EXPECT_EQ(here.runtime.notes.front(), "release");
  EXPECT_EQ(here.runtime.notes[1], "free 2 1000");
  EXPECT_EQ(here.runtime.notes.back(), "free 1 5");
}

// The memory of thirty arrays of 100 MB must not wait for the next free.
TEST(HeapMessages, FreesOfMuchMemoryAreSentAtOnce) {
  World& here = world();
  here.runtime.notes.clear();
  here.runtime.size = HeapMessages::unsent_bytes_max / 2;
  const std::uintptr_t block = 32768;
  here.messages.release(Rank{2}, 8 * block, 0);
  here.messages.release(Rank{2}, 9 * block + 16, 0);  // not the beginning of a block: no large allocation
  EXPECT_EQ(here.runtime.notes, Notes{});
  here.messages.release(Rank{1}, 20 * block, 0);
  EXPECT_EQ(here.runtime.notes,
            (Notes{"release", "free 2 " + std::to_string(8 * block),
                   "free 2 " + std::to_string(9 * block + 16), "free 1 " + std::to_string(20 * block)}));
  here.runtime.size = 48;
}

TEST(HeapMessages, MemoryThatCameHomeIsUsedAgainOnlyAfterAnAcquire) {
  World& here = world();
  here.runtime.notes.clear();
  std::vector<std::uintptr_t> addresses;
  for (std::size_t i = 0; i < HeapMessages::waiting_count_max; ++i) addresses.push_back(allocate(1000));
  for (std::size_t i = 0; i + 1 < addresses.size(); ++i) here.messages.on_free(Rank{1}, addresses[i], 0);
  for (int i = 0; i < 500; ++i) {
    const std::uintptr_t address = allocate(1000);
    EXPECT_EQ(std::ranges::find(addresses, address), addresses.end());
  }
  EXPECT_EQ(here.runtime.notes, Notes{});
  here.messages.on_free(Rank{1}, addresses.back(), 0);
  bool is_reused = false;
  for (int i = 0; i < 500; ++i) {
    is_reused |= std::ranges::find(addresses, allocate(1000)) != addresses.end();
  }
  EXPECT_EQ(here.runtime.notes, Notes{"acquire"});
  EXPECT_TRUE(is_reused);
}

TEST(HeapMessages, MuchMemoryComesBackAtOnce) {
  World& here = world();
  here.runtime.notes.clear();
  here.messages.on_free(Rank{1}, allocate(HeapMessages::waiting_bytes_max), 0);
  allocate(16);
  EXPECT_EQ(here.runtime.notes, Notes{"acquire"});
}

// The owner may not allocate for a long time.
TEST(HeapMessages, InOneMemoryWhatComesHomeIsFreeAtOnce) {
  World& here = world();
  here.runtime.notes.clear();
  here.runtime.all_is_one = true;
  constexpr std::size_t bytes = std::size_t{20} << 20;
  for (int i = 0; i < 10; ++i) {
    const std::uintptr_t address = allocate(bytes);
    ASSERT_NE(address, 0u);
    here.messages.on_free(Rank{1}, address, 0);
    const auto mapping = reinterpret_cast<std::uintptr_t>(here.mapped.map(bytes, 4096));
    ASSERT_NE(mapping, 0u);
    here.messages.on_free(Rank{1}, mapping, bytes);
  }
  here.runtime.all_is_one = false;
  EXPECT_EQ(here.runtime.notes, Notes{});
}

TEST(HeapMessages, SizesAreAnsweredByTheOwner) {
  World& here = world();
  EXPECT_GE(here.messages.on_size_query(allocate(100)), 100u);
  EXPECT_LT(here.messages.on_size_query(allocate(100)), 200u);
  EXPECT_EQ(here.messages.usable_bytes(Rank{1}, 1), 48u);
}

}  // namespace
}  // namespace musubi::heap
