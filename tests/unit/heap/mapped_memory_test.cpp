#include "heap/mapped_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "heap/heap.h"

namespace musubi::heap {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t part_bytes = std::size_t{64} << 20;
constexpr std::size_t mapping_bytes = std::size_t{24} << 20;  // two fit a part, three do not

class NoRemoteHeap final : public RemoteHeap {
 public:
  void release(Rank, std::uintptr_t, std::size_t) noexcept override { FAIL() << "all memory is own"; }
  std::size_t usable_bytes(Rank, std::uintptr_t) noexcept override { return 0; }
  void take_back() noexcept override {}
  bool give_back(std::uintptr_t, std::size_t) noexcept override { return false; }
};

class MappedMemoryTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static NoRemoteHeap foreign;
    void* const base =
        mmap(nullptr, part_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const HeapPlace place{reinterpret_cast<std::uintptr_t>(base), part_bytes, Rank{0}, 1, 32768};
    ASSERT_TRUE(process_heap.share(place, {}, foreign));
  }

  std::uintptr_t map(std::size_t bytes, std::size_t alignment = page) {
    return reinterpret_cast<std::uintptr_t>(memory.map(bytes, alignment));
  }
  // The number of further mappings that fit, which tells whether the heap has a mapping's memory again.
  int mappings_that_fit() {
    std::vector<void*> taken;
    while (void* const more = process_heap.allocate_aligned(page, mapping_bytes, nullptr))
      taken.push_back(more);
    for (void* one : taken) process_heap.release(one);
    return static_cast<int>(taken.size());
  }

  MappedMemory memory{process_heap};
};

TEST_F(MappedMemoryTest, GivesPagesAtTheAlignmentThatIsAsked) {
  for (std::size_t alignment = page; alignment <= (std::size_t{1} << 20); alignment *= 4) {
    const std::uintptr_t begin = map(3 * page, alignment);
    EXPECT_TRUE(process_heap.is_own(reinterpret_cast<void*>(begin)));
    EXPECT_EQ(begin % alignment, 0u);
    memory.unmap(begin, 3 * page);
  }
}

TEST_F(MappedMemoryTest, FullHeapGivesNull) {
  EXPECT_EQ(memory.map(2 * part_bytes, page), nullptr);
}

TEST_F(MappedMemoryTest, MemoryReturnsToTheHeapWithItsLastPage) {
  const int fit = mappings_that_fit();
  const std::uintptr_t begin = map(mapping_bytes);
  ASSERT_EQ(mappings_that_fit(), fit - 1);
  memory.unmap(begin, mapping_bytes - page);
  EXPECT_EQ(mappings_that_fit(), fit - 1) << "one page is in use";
  memory.unmap(begin + mapping_bytes - page, page);
  EXPECT_EQ(mappings_that_fit(), fit);
}

TEST_F(MappedMemoryTest, HolesMayComeInAnyOrderAndTwice) {
  const int fit = mappings_that_fit();
  const std::uintptr_t begin = map(mapping_bytes);
  memory.unmap(begin + 4 * page, 2 * page);
  memory.unmap(begin + 2 * page, 6 * page);  // around the first hole
  memory.unmap(begin + 2 * page, 6 * page);
  memory.unmap(begin, 3 * page);
  EXPECT_EQ(mappings_that_fit(), fit - 1);
  memory.unmap(begin + 5 * page, mapping_bytes - 5 * page);
  EXPECT_EQ(mappings_that_fit(), fit);
}

TEST_F(MappedMemoryTest, OneCallMayUnmapSeveralMappingsAndWhatLiesBetween) {
  const int fit = mappings_that_fit();
  const std::uintptr_t first = map(mapping_bytes);
  const std::uintptr_t second = map(mapping_bytes);
  const std::uintptr_t low = std::min(first, second);
  const std::uintptr_t high = std::max(first, second);
  ASSERT_LT(mappings_that_fit(), fit);
  memory.unmap(low, high + mapping_bytes - low);
  EXPECT_EQ(mappings_that_fit(), fit);
}

TEST_F(MappedMemoryTest, PagesOfNoMappingAreLeftAlone) {
  void* const other = process_heap.allocate_aligned(page, 4 * page, nullptr);
  memory.unmap(reinterpret_cast<std::uintptr_t>(other), 4 * page);
  EXPECT_GE(process_heap.usable_bytes(other), 4 * page);
  process_heap.release(other);  // jemalloc aborts if it was released already
}

TEST_F(MappedMemoryTest, PagesInUseAgainKeepTheMapping) {
  const int fit = mappings_that_fit();
  const std::uintptr_t begin = map(mapping_bytes);
  memory.unmap(begin, mapping_bytes - page);
  EXPECT_TRUE(memory.use_again(begin + page, page));
  memory.unmap(begin + mapping_bytes - page, page);
  EXPECT_EQ(mappings_that_fit(), fit - 1);
  EXPECT_FALSE(memory.use_again(begin + mapping_bytes - page, part_bytes)) << "leaves the mapping";
  memory.unmap(begin + page, page);
  EXPECT_EQ(mappings_that_fit(), fit);
  EXPECT_FALSE(memory.use_again(begin, page)) << "no mapping any more";
}

TEST_F(MappedMemoryTest, GrowsInPlaceOverWhatIsUnusedAndNoFurther) {
  const std::uintptr_t begin = map(8 * page);
  memory.unmap(begin + 4 * page, 4 * page);
  EXPECT_TRUE(memory.extend(begin, 4 * page, 6 * page));
  EXPECT_FALSE(memory.extend(begin, 4 * page, 6 * page)) << "in use";
  EXPECT_FALSE(memory.extend(begin, 6 * page, part_bytes)) << "leaves the mapping";
  const int fit = mappings_that_fit();
  memory.unmap(begin, 4 * page);
  memory.unmap(begin + 4 * page, 2 * page);
  EXPECT_GE(mappings_that_fit(), fit);
  EXPECT_FALSE(memory.extend(begin, page, 2 * page)) << "no mapping any more";
}

TEST_F(MappedMemoryTest, OddSizesAreRefusedAsAMistakeOfOurs) {
  const std::uintptr_t begin = map(2 * page);
  EXPECT_DEATH(memory.unmap(begin + 8, page), "unmaps 4096 bytes at");
  EXPECT_DEATH(memory.map(100, page), "maps 100 bytes");
  EXPECT_DEATH(memory.extend(begin, 2 * page, page), "extends 8192 bytes");
  memory.unmap(begin, 2 * page);
}

// Last: this memory is never given back.
TEST_F(MappedMemoryTest, KeptMemoryNeverReturns) {
  const int fit = mappings_that_fit();
  const std::uintptr_t begin = map(mapping_bytes);
  memory.keep(begin + page);
  memory.unmap(begin, mapping_bytes);
  EXPECT_EQ(mappings_that_fit(), fit - 1);
}

}  // namespace
}  // namespace musubi::heap
