// A pointer finds the allocation that it points into or just past, and no other that a program may reach by
// it.
#include "heap/large_allocations.h"

#include <gtest/gtest.h>

#include <memory>

namespace musubi::heap {
namespace {

constexpr std::uintptr_t base = 0x7000'0000'0000;
constexpr std::size_t small = LargeAllocations::bytes_min;

class LargeAllocationsTest : public ::testing::Test {
 protected:
  void expect(std::uintptr_t address, std::uintptr_t begin, std::uintptr_t end) {
    const AddressRange found = list_->around(address);
    EXPECT_EQ(found.begin, begin);
    EXPECT_EQ(found.begin + found.bytes, end);
  }
  std::unique_ptr<LargeAllocations> list_ = std::make_unique<LargeAllocations>();
};

TEST_F(LargeAllocationsTest, APointerInsideOrAtTheEndLeadsToItsOwn) {
  list_->add(base + 100'000, 50'000);
  list_->add(base, 50'000);
  expect(base + 1, base, base + 50'000);
  expect(base + 50'000, base, base + 50'000);
  expect(base + 149'999, base + 100'000, base + 150'000);
  EXPECT_EQ(list_->around(base + 50'001).bytes, 0u);
  EXPECT_EQ(list_->around(base + 99'999).bytes, 0u);
  EXPECT_EQ(list_->around(base - 1).bytes, 0u);
}

// Unlisted memory may end where a large allocation begins.
TEST_F(LargeAllocationsTest, APointerToTheBeginningMayBeTheEndOfASmallOne) {
  list_->add(base, 50'000);
  list_->add(base + 60'000, 50'000);
  list_->add(base + 200'000, 50'000);
  expect(base + 60'000, base + 50'000, base + 110'000);
  expect(base + 200'000, base + 200'000 - small, base + 250'000);
}

TEST_F(LargeAllocationsTest, WhatWasFreedIsNotListed) {
  list_->add(base, 50'000);
  EXPECT_TRUE(list_->may_have(base));
  list_->remove(base + 8);
  EXPECT_NE(list_->around(base + 10).bytes, 0u);
  list_->remove(base);
  EXPECT_FALSE(list_->may_have(base));
  EXPECT_EQ(list_->around(base + 10).bytes, 0u);
}

TEST_F(LargeAllocationsTest, WithoutRoomABeginningTellsNothing) {
  constexpr std::size_t more_than_fit = 1100, apart = 100'000;
  for (std::size_t i = 0; i < more_than_fit; ++i) list_->add(base + i * apart, 50'000);
  expect(base + apart + 1, base + apart, base + apart + 50'000);
  EXPECT_EQ(list_->around(base + apart).bytes, 0u);
  EXPECT_EQ(list_->around(base + (more_than_fit - 1) * apart + 1).bytes, 0u);
}

}  // namespace
}  // namespace musubi::heap
