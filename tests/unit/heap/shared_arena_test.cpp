#include "heap/shared_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "heap/jemalloc.h"

namespace musubi::heap {
namespace {

constexpr std::size_t range_bytes = std::size_t{32} << 20;

struct Arena {
  char* base = static_cast<char*>(
      mmap(nullptr, range_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  SharedArena made =
      create_shared_arena(reinterpret_cast<std::uintptr_t>(base), range_bytes, 32768, 1).value();
  unsigned index = made.index;

  bool holds(const void* address) const { return address >= base && address < base + range_bytes; }
  void* take(std::size_t bytes) const {
    return musubi_je_mallocx(bytes, jemalloc::arena(index) | jemalloc::no_thread_cache);
  }
  static void give_back(void* memory) { musubi_je_dallocx(memory, jemalloc::no_thread_cache); }
};

// A process can have one.
const Arena& arena() {
  static const Arena the_arena;
  return the_arena;
}

TEST(SharedArena, AllMemoryLiesInItsRange) {
  std::vector<void*> taken;
  for (std::size_t bytes = 8; bytes <= (std::size_t{4} << 20); bytes *= 2) {
    taken.push_back(arena().take(bytes));
    EXPECT_TRUE(arena().holds(taken.back())) << bytes;
  }
  for (void* memory : taken) Arena::give_back(memory);
}

TEST(SharedArena, FullRangeGivesNullAndNothingOutside) {
  std::vector<void*> taken;
  while (void* const memory = arena().take(std::size_t{1} << 20)) {
    ASSERT_TRUE(arena().holds(memory));
    taken.push_back(memory);
  }
  EXPECT_GE(taken.size(), 24u);
  for (void* memory : taken) Arena::give_back(memory);
}

TEST(SharedArena, FreeNeighboursAreJoined) {
  std::vector<void*> taken;
  while (void* const memory = arena().take(std::size_t{1} << 20)) taken.push_back(memory);
  for (void* memory : taken) Arena::give_back(memory);
  void* const large = arena().take(std::size_t{20} << 20);
  EXPECT_TRUE(arena().holds(large));
  Arena::give_back(large);
}

// How far into the range one phase of `count` pieces reaches, which are then freed.
std::size_t reach_of_phase(std::size_t count, std::size_t bytes) {
  std::vector<void*> taken;
  std::size_t reach = 0;
  while (taken.size() < count) {
    auto* const memory = static_cast<char*>(arena().take(bytes));
    if (memory == nullptr) break;
    reach = std::max(reach, static_cast<std::size_t>(memory - arena().base) + bytes);
    taken.push_back(memory);
  }
  for (void* memory : taken) Arena::give_back(memory);
  return reach;
}

TEST(SharedArena, PhasesOfDifferentSizesUseTheSameMemory) {
  std::size_t reach = 0;
  for (int turn = 0; turn < 100; ++turn) {
    for (const std::size_t bytes : {100u, 1000u, 128u, 448u, 20000u, 40000u}) {
      reach = std::max(reach, reach_of_phase((1 << 20) / bytes, bytes));
    }
  }
  EXPECT_LT(reach, std::size_t{4} << 20);
}

TEST(SharedArena, OnlyABoundThreadMallocsThere) {
  std::thread([] {
    void* const before = musubi_je_mallocx(5000, jemalloc::no_thread_cache);
    ASSERT_TRUE(bind_thread_to_arena(arena().index));
    void* const after = musubi_je_malloc(5000);
    EXPECT_FALSE(arena().holds(before));
    EXPECT_TRUE(arena().holds(after));
    musubi_je_free(after);
    Arena::give_back(before);
  }).join();
}

TEST(SharedArena, SecondOneIsAMistakeOfOurs) {
  (void)arena();
  EXPECT_DEATH(
      (void)create_shared_arena(reinterpret_cast<std::uintptr_t>(arena().base), range_bytes, 32768, 1),
      "region.end == 0");
}

}  // namespace
}  // namespace musubi::heap
