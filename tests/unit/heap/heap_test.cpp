#include "heap/heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace musubi::heap {
namespace {

constexpr std::size_t part_bytes = std::size_t{256} << 20;
constexpr std::size_t block_bytes = 32 << 10;
constexpr Rank self{1};

// Two other ranks that only record their calls; the memory of all three is one plain mapping.
class NotedMemory final : public RemoteHeap {
 public:
  void release(Rank owner, std::uintptr_t address, std::size_t) noexcept override {
    released.push_back({owner, address});
  }
  std::size_t usable_bytes(Rank, std::uintptr_t) noexcept override { return size_of_foreign; }
  void take_back() noexcept override { ++taken_back; }
  bool give_back(std::uintptr_t address, std::size_t bytes) noexcept override {
    return madvise(reinterpret_cast<void*>(address), bytes, MADV_REMOVE) == 0;
  }

  std::vector<std::pair<Rank, std::uintptr_t>> released;
  std::size_t size_of_foreign = 64;
  int taken_back = 0;
};

struct World {
  NotedMemory foreign;
  char* base;
  char private_code[16];  // stands for the C library's code

  World() {
    base = static_cast<char*>(mmap(nullptr, 3 * part_bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    const HeapPlace place{reinterpret_cast<std::uintptr_t>(base), part_bytes, self, 3, block_bytes};
    before = process_heap.allocate_shared(100);
    const AddressRange callers[] = {{reinterpret_cast<std::uintptr_t>(private_code), sizeof private_code}};
    if (!process_heap.share(place, callers, foreign)) abort();
  }
  char* own() const { return base + self.value * part_bytes; }
  std::size_t touched_pages() const {
    std::vector<unsigned char> pages(part_bytes / 4096);
    EXPECT_EQ(mincore(own(), part_bytes, pages.data()), 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
  }
  void* before;
};

World& world() {
  static World the_world;
  return the_world;
}

class HeapTest : public testing::Test {
 protected:
  void SetUp() override {
    world().foreign.released.clear();
    world().foreign.taken_back = 0;
  }
  void* allocate_private(std::size_t bytes) { return process_heap.allocate(bytes, world().private_code + 4); }
};

// First: arrays are placed in memory that has been in use before, if they fit.
TEST_F(HeapTest, LargeArraysOfOneSizeLieFarApartModuloPowersOfTwo) {
  constexpr std::size_t period = std::size_t{2} << 20;
  std::vector<void*> arrays;
  std::vector<std::size_t> places;
  for (int i = 0; i < 6; ++i) {
    arrays.push_back(process_heap.allocate_shared(std::size_t{4} << 20));
    ASSERT_NE(arrays.back(), nullptr);
    places.push_back(reinterpret_cast<std::uintptr_t>(arrays.back()) % period);
  }
  std::ranges::sort(places);
  places.push_back(places.front() + period);
  for (std::size_t i = 1; i < places.size(); ++i) EXPECT_GE(places[i] - places[i - 1], 4 * block_bytes);
  for (void* array : arrays) process_heap.release(array);
}

// Second, for the same reason.
TEST_F(HeapTest, ZeroedMemoryIsZeroAndFreshMemoryIsNotWritten) {
  constexpr std::size_t large = std::size_t{40} << 20;
  void* const of_others = process_heap.allocate_shared(std::size_t{8} << 20);  // memory in use before
  const std::size_t before = world().touched_pages();
  void* const fresh = process_heap.allocate_zeroed(large, 1, nullptr);
  ASSERT_NE(fresh, nullptr);
  EXPECT_EQ(world().touched_pages(), before);
  std::memset(fresh, 0xff, large);
  process_heap.release(fresh);
  auto* const again = static_cast<unsigned char*>(process_heap.allocate_zeroed(1, large, nullptr));
  EXPECT_EQ(std::count(again, again + large, 0), static_cast<long>(large));
  process_heap.release(again);
  process_heap.release(of_others);
  for (int i = 0; i < 100; ++i) {
    auto* const small = static_cast<unsigned char*>(process_heap.allocate_zeroed(10, 10, nullptr));
    ASSERT_EQ(std::count(small, small + 100, 0), 100);
    std::memset(small, 0xff, 100);
    process_heap.release(small);
  }
  EXPECT_EQ(process_heap.allocate_zeroed(~std::size_t{0} / 2, 3, nullptr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(HeapTest, MemoryFromBeforeIsPrivateAndCanBeFreed) {
  EXPECT_FALSE(process_heap.is_shared(world().before));
  std::memset(world().before, 1, 100);
  process_heap.release(world().before);
}

TEST_F(HeapTest, CallerDecidesAndMemoryStaysWhereItBegan) {
  void* shared = process_heap.allocate(1000, nullptr);
  void* hidden = allocate_private(1000);
  EXPECT_TRUE(process_heap.is_own(shared));
  EXPECT_FALSE(process_heap.is_shared(hidden));
  hidden = process_heap.resize(hidden, 100000, nullptr);
  shared = process_heap.resize(shared, 100000, world().private_code);
  EXPECT_TRUE(process_heap.is_own(shared));
  EXPECT_FALSE(process_heap.is_shared(hidden));
  process_heap.release(shared);
  process_heap.release(hidden);
}

TEST_F(HeapTest, FreedPrivateMemoryNeverComesBackAsShared) {
  std::vector<void*> pointers;
  for (int i = 0; i < 1000; ++i) pointers.push_back(allocate_private(48));
  for (void* pointer : pointers) process_heap.release(pointer);
  for (int i = 0; i < 1000; ++i) {
    pointers[static_cast<std::size_t>(i)] = process_heap.allocate(48, nullptr);
    ASSERT_TRUE(process_heap.is_own(pointers[static_cast<std::size_t>(i)]));
  }
  for (void* pointer : pointers) process_heap.release(pointer);
  for (int i = 0; i < 1000; ++i) {
    void* const pointer = allocate_private(48);
    ASSERT_FALSE(process_heap.is_shared(pointer));
    process_heap.release(pointer);
  }
}

TEST_F(HeapTest, AllocatorTouchesNoSharedPage) {
  const std::size_t before = world().touched_pages();
  std::vector<void*> pointers;
  for (std::size_t bytes = 16; bytes <= (std::size_t{32} << 20); bytes *= 2) {
    for (int i = 0; i < 3; ++i) pointers.push_back(process_heap.allocate(bytes, nullptr));
  }
  for (int i = 0; i < 10000; ++i) pointers.push_back(process_heap.allocate(64, nullptr));
  for (void* pointer : pointers) ASSERT_TRUE(process_heap.is_own(pointer));
  for (void* pointer : pointers) process_heap.release(pointer);
  EXPECT_LE(world().touched_pages(), before);  // some pages may have been given back
}

TEST_F(HeapTest, LargeMemoryBeginsAtABlockAndAlignmentIsKept) {
  void* const spacer = process_heap.allocate(5000, nullptr);
  void* const large = process_heap.allocate(300000, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large) % block_bytes, 0u);
  process_heap.release(large);
  for (unsigned i = 0; i < 4; ++i) {
    process_heap.allocate(20000, nullptr);  // stays allocated, and ends inside of a block
    void* const two_blocks = process_heap.allocate(2 * block_bytes, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(two_blocks) % block_bytes, 0u);
  }
  for (std::size_t alignment = 8; alignment <= (1 << 20); alignment *= 2) {
    void* const pointer = process_heap.allocate_aligned(alignment, 500, nullptr);
    EXPECT_TRUE(process_heap.is_own(pointer));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0u);
    process_heap.release(pointer);
  }
  process_heap.release(spacer);
}

TEST_F(HeapTest, ForeignMemoryGoesToItsOwner) {
  char* const of_first = world().base + 4096;
  char* const of_last = world().base + 2 * part_bytes + 64;
  errno = 17;
  process_heap.release(of_first);
  process_heap.release(of_last);
  EXPECT_EQ(errno, 17);
  ASSERT_EQ(world().foreign.released.size(), 2u);
  EXPECT_EQ(world().foreign.released[0].first, Rank{0});
  EXPECT_EQ(world().foreign.released[0].second, reinterpret_cast<std::uintptr_t>(of_first));
  EXPECT_EQ(world().foreign.released[1].first, Rank{2});
}

TEST_F(HeapTest, ResizedForeignMemoryMovesHereWithItsContents) {
  char* const foreign = world().base + 8192;
  for (int i = 0; i < 64; ++i) foreign[i] = static_cast<char>(i);
  world().foreign.size_of_foreign = 64;
  EXPECT_EQ(process_heap.usable_bytes(foreign), 64u);
  auto* const larger = static_cast<char*>(process_heap.resize(foreign, 1000, nullptr));
  EXPECT_TRUE(process_heap.is_own(larger));
  EXPECT_EQ(std::memcmp(larger, foreign, 64), 0);
  auto* const smaller = static_cast<char*>(process_heap.resize(foreign, 10, nullptr));
  EXPECT_EQ(std::memcmp(smaller, foreign, 10), 0);
  EXPECT_EQ(world().foreign.released.size(), 2u);
  process_heap.release(larger);
  process_heap.release(smaller);
}

TEST_F(HeapTest, ResizeKeepsContentsAndZeroFrees) {
  auto* pointer = static_cast<char*>(process_heap.resize(nullptr, 10, nullptr));
  std::strcpy(pointer, "contents");
  for (std::size_t bytes = 20; bytes < (8 << 20); bytes *= 3) {
    pointer = static_cast<char*>(process_heap.resize(pointer, bytes, nullptr));
    ASSERT_TRUE(process_heap.is_own(pointer));
    ASSERT_STREQ(pointer, "contents");
    ASSERT_GE(process_heap.usable_bytes(pointer), bytes);
  }
  EXPECT_EQ(process_heap.resize(pointer, 0, nullptr), nullptr);
  EXPECT_EQ(process_heap.usable_bytes(nullptr), 0u);
  process_heap.release(nullptr);
}

TEST_F(HeapTest, OneThreadAllocatesAnotherFrees) {
  std::vector<void*> pointers(20000);
  std::thread([&] {
    for (void*& pointer : pointers) pointer = process_heap.allocate(40, nullptr);
  }).join();
  for (void* pointer : pointers) {
    ASSERT_TRUE(process_heap.is_own(pointer));
    process_heap.release(pointer);
  }
}

TEST_F(HeapTest, ServiceMayFreeWhileTheOwnerAllocates) {
  constexpr int rounds = 20000;
  std::vector<std::atomic<void*>> slots(64);
  std::atomic<bool> done{false};
  std::thread service([&] {
    while (true) {
      const bool last = done.load();
      for (auto& slot : slots) {
        if (void* const pointer = slot.exchange(nullptr))
          process_heap.release_own(reinterpret_cast<std::uintptr_t>(pointer));
      }
      if (last) return;
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    auto* const pointer =
        static_cast<int*>(process_heap.allocate(64 + static_cast<std::size_t>(i % 7) * 100, nullptr));
    *pointer = i;
    if (void* const old = slots[static_cast<std::size_t>(i) % slots.size()].exchange(pointer))
      process_heap.release(old);
  }
  done = true;
  service.join();
}

TEST_F(HeapTest, TakesBackWhenAskedAndWhenFull) {
  process_heap.request_take_back();
  void* const pointer = process_heap.allocate(16, nullptr);
  EXPECT_EQ(world().foreign.taken_back, 1);
  process_heap.release(pointer);
  process_heap.release(process_heap.allocate(16, nullptr));
  EXPECT_EQ(world().foreign.taken_back, 1);
  process_heap.request_take_back();
  process_heap.release(allocate_private(16));  // the C library may be inside any function: not now
  EXPECT_EQ(world().foreign.taken_back, 1);
  process_heap.release(process_heap.allocate(16, nullptr));
  EXPECT_EQ(world().foreign.taken_back, 2);

  EXPECT_EQ(process_heap.allocate(2 * part_bytes, nullptr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(world().foreign.taken_back, 3);
}

TEST_F(HeapTest, MostOfTheRangeCanBeUsedAndUsedAgain) {
  for (int round = 0; round < 4; ++round) {
    std::vector<void*> pointers;
    std::size_t bytes = 0;
    while (void* const pointer = process_heap.allocate(1 << 20, nullptr)) {
      pointers.push_back(pointer);
      bytes += 1 << 20;
    }
    EXPECT_GT(bytes, part_bytes * 2 / 3);
    for (void* pointer : pointers) process_heap.release(pointer);
  }
}

}  // namespace
}  // namespace musubi::heap
