#include "global_heap/layout.h"

#include <gtest/gtest.h>

namespace musubi::global_heap {
namespace {

constexpr fabric::RegionId region{2};

// Each part begins after the last byte that the previous part can need.
void expect_parts_apart(std::uint64_t begin, std::uint64_t bytes) {
  const HeapLayout layout(region, begin, bytes);
  const std::uint64_t data = layout.data_bytes();
  ASSERT_GT(data, 0u);
  const std::uint64_t last = data - 1;
  EXPECT_EQ(layout.directory_at(0), begin);
  EXPECT_LE(layout.directory_at(last / unit_bytes) + 8, layout.page_states_at(0));
  EXPECT_LE(layout.page_states_at(last / page_bytes) + 1, layout.object_states_at(0));
  EXPECT_LE(layout.object_states_at(last) + 8, layout.head_at(0));
  EXPECT_LT(layout.head_at(class_count), layout.page_pool_at());
  EXPECT_LE(layout.page_pool_at() + 64, layout.control_at());
  EXPECT_EQ(layout.control_at() + control_bytes, layout.data_at(0));
  EXPECT_EQ((layout.data_at(0) - begin) % page_bytes, 0u);
  EXPECT_EQ(layout.object_states_at(0) % 8, 0u);
  EXPECT_LE(layout.data_at(data), begin + bytes);
}

TEST(GlobalHeapLayout, PartsLieApartInHeapsOfAnySize) {
  for (const std::uint64_t bytes : {std::uint64_t{50'000}, std::uint64_t{524'288}, std::uint64_t{1} << 30,
                                    (std::uint64_t{1} << 33) + 4096, std::uint64_t{1} << 43}) {
    expect_parts_apart(0, bytes);
    expect_parts_apart(8192, bytes);
  }
}

TEST(GlobalHeapLayout, TablesTakeAHundredthOfALargeHeap) {
  const HeapLayout layout(region, 0, std::uint64_t{1} << 33);
  EXPECT_GT(layout.data_bytes(), (std::uint64_t{1} << 33) / 100 * 99);
}

TEST(GlobalHeapLayout, HeapWithoutRoomForItsTablesHasNoData) {
  EXPECT_EQ(HeapLayout(region, 0, 4096).data_bytes(), 0u);
  EXPECT_EQ(HeapLayout(region, 0, 0).data_bytes(), 0u);
}

}  // namespace
}  // namespace musubi::global_heap
