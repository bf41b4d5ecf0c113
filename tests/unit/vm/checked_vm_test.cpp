// The states that compiled code reads follow the pages, and never allow more at any moment but one: between
// the closing of states and that of pages code that has read a state meets a fault.
#include "vm/checked/checked_vm.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <vector>

#include "os/memory.h"

namespace musubi::vm {
namespace {

constexpr unsigned granule_shift = 9;
constexpr std::size_t block_bytes = 4096, small_block_bytes = 512;

// Pages whose changes are noted together with the state of the first block.
class Pages final : public Vm {
 public:
  explicit Pages(const std::uint8_t* state) : state_(state) {}
  void open_read(BlockRun) noexcept override { note(); }
  void open_write(BlockRun) noexcept override { note(); }
  void upgrade(BlockRun) noexcept override { note(); }
  void downgrade(BlockRun) noexcept override { note(); }
  void close(BlockRun) noexcept override { note(); }
  void leave_open(BlockRun) noexcept override { note(); }
  std::vector<unsigned> states_seen;

 private:
  void note() { states_seen.push_back(*state_); }
  const std::uint8_t* const state_;
};

class CheckedVmTest : public testing::Test {
 protected:
  static Space one_segment(std::size_t bytes, bool unprotected) {
    Space space(1);
    Segment segment;
    segment.name = "checked";
    segment.base = base;
    segment.bytes = bytes;
    segment.block_bytes = unprotected ? small_block_bytes : block_bytes;
    segment.unprotected = unprotected;
    space.add(segment);
    return space;
  }
  void use(std::size_t bytes, bool unprotected = false) {
    space_ = std::make_unique<Space>(one_segment(bytes, unprotected));
    auto mapped = os::Mapping::anywhere(StateTable::bytes(granule_shift), os::Protection::read);
    ASSERT_TRUE(mapped.ok());
    mapping_ = std::move(mapped).value();
    table_ = std::make_unique<StateTable>(reinterpret_cast<std::uintptr_t>(mapping_.data()), granule_shift);
    const auto* const first =
        reinterpret_cast<const std::uint8_t*>(mapping_.data()) + (base >> granule_shift);
    pages_ = std::make_unique<Pages>(first);
    vm_ = std::make_unique<CheckedVm>(*pages_, *space_, *table_);
  }
  // Of all granules of a block, which must agree.
  unsigned state(std::uint64_t block) const {
    const unsigned first = table_->state(base + block * block_bytes);
    for (std::size_t at = 0; at < block_bytes; at += std::size_t{1} << granule_shift)
      EXPECT_EQ(table_->state(base + block * block_bytes + at), first);
    return first;
  }

  static constexpr std::uintptr_t base = 0x510000000000;
  static constexpr unsigned closed = 7, readable = 6, open = 0;
  std::unique_ptr<Space> space_;
  os::Mapping mapping_;
  std::unique_ptr<StateTable> table_;
  std::unique_ptr<Pages> pages_;
  std::unique_ptr<CheckedVm> vm_;
};

TEST_F(CheckedVmTest, StatesFollowThePages) {
  use(16 * block_bytes);
  vm_->open_read({BlockId{0}, 4});
  EXPECT_EQ(state(0), readable);
  EXPECT_EQ(state(3), readable);
  EXPECT_EQ(state(4), closed);
  vm_->upgrade({BlockId{0}, 2});
  EXPECT_EQ(state(1), open);
  EXPECT_EQ(state(2), readable);
  vm_->downgrade({BlockId{1}, 1});
  EXPECT_EQ(state(1), readable);
  vm_->close({BlockId{0}, 4});
  EXPECT_EQ(state(0), closed);
  EXPECT_EQ(state(3), closed);
  vm_->open_write({BlockId{15}, 1});
  EXPECT_EQ(state(15), open);
  EXPECT_EQ(table_->state(base - 1), 0);
  EXPECT_EQ(table_->state(base + 16 * block_bytes), 0);
  EXPECT_TRUE(vm_->states().allows(BlockId{15}, Access::write));
  EXPECT_FALSE(vm_->states().allows(BlockId{0}, Access::read));
}

TEST_F(CheckedVmTest, PagesOpenFirstAndCloseLast) {
  use(16 * block_bytes);
  vm_->open_read({BlockId{0}, 1});
  vm_->upgrade({BlockId{0}, 1});
  vm_->downgrade({BlockId{0}, 1});
  vm_->close({BlockId{0}, 1});
  EXPECT_EQ(pages_->states_seen, (std::vector<unsigned>{0, readable, readable, closed}));
}

// Bytes of memory that this process holds.
std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * os::page_bytes();
}

// 8 TiB, whose states are 16 GiB.
TEST_F(CheckedVmTest, ALargeSegmentIsClosedAndTakesLittleMemory) {
  const std::size_t bytes = std::size_t{1} << 43, last = bytes / block_bytes - 1;
  use(bytes);
  const std::size_t before = resident_bytes();
  vm_->open_read({BlockId{1000}, 1});
  EXPECT_EQ(state(0), closed);
  EXPECT_EQ(state(999), closed);
  EXPECT_EQ(state(1000), readable);
  EXPECT_EQ(state(1001), closed);
  for (std::uint64_t block = 2000; block < last; block = block * 3 / 2) {
    EXPECT_EQ(state(block), closed) << block;
    vm_->open_write({BlockId{block}, 1});
    EXPECT_EQ(state(block), open) << block;
    EXPECT_EQ(state(block + 1), closed) << block;
  }
  EXPECT_EQ(state(last), closed);
  EXPECT_EQ(table_->state(base - 1), 0) << "not shared";
  EXPECT_EQ(table_->state(base + bytes), 0) << "not shared";
  EXPECT_LT(resident_bytes() - before, std::size_t{64} << 20);
}

// Its states begin and end inside of pages that neighbours have a part of.
TEST_F(CheckedVmTest, AnOddLargeSegmentIsClosedUpToItsEnds) {
  const std::size_t bytes = (std::size_t{1} << 32) + 7 * block_bytes;
  use(bytes);
  vm_->open_read({BlockId{0}, 1});
  vm_->close({BlockId{0}, 1});
  for (std::uint64_t block = 0; block < bytes / block_bytes; ++block)
    ASSERT_EQ(state(block), closed) << block;
  EXPECT_EQ(table_->state(base + bytes), 0) << "not shared";
}

// Blocks smaller than a page.
TEST_F(CheckedVmTest, TheStatesOfAnUnprotectedSegmentChangeAlone) {
  use(16 * block_bytes, true);
  const auto state_of = [&](std::uint64_t block) { return table_->state(base + block * small_block_bytes); };
  EXPECT_EQ(state_of(0), open);
  vm_->cover(space_->segments()[0]);
  EXPECT_EQ(state_of(0), closed);
  EXPECT_EQ(state_of(16 * block_bytes / small_block_bytes - 1), closed);
  EXPECT_EQ(state_of(16 * block_bytes / small_block_bytes), open) << "not shared";
  vm_->open_read({BlockId{1}, 3});
  vm_->upgrade({BlockId{2}, 1});
  EXPECT_EQ(state_of(0), closed);
  EXPECT_EQ(state_of(1), readable);
  EXPECT_EQ(state_of(2), open);
  EXPECT_EQ(state_of(4), closed);
  vm_->downgrade({BlockId{2}, 1});
  EXPECT_EQ(state_of(2), readable);
  vm_->close({BlockId{1}, 2});
  EXPECT_EQ(state_of(2), closed);
  EXPECT_EQ(state_of(3), readable);
  vm_->open_write({BlockId{0}});
  vm_->leave_open({BlockId{5}});
  EXPECT_EQ(state_of(0), open);
  EXPECT_EQ(state_of(5), open);
  EXPECT_TRUE(vm_->states().allows(BlockId{3}, Access::read));
  EXPECT_FALSE(vm_->states().allows(BlockId{1}, Access::read));
  EXPECT_TRUE(pages_->states_seen.empty());
}

TEST_F(CheckedVmTest, ALargeUnprotectedSegmentIsClosedWhole) {
  const std::size_t bytes = std::size_t{2} << 30;
  use(bytes, true);
  vm_->cover(space_->segments()[0]);
  EXPECT_EQ(table_->state(base), closed);
  EXPECT_EQ(table_->state(base + bytes - 1), closed);
}

TEST_F(CheckedVmTest, TheLastBlockMayBeShort) {
  use(3 * block_bytes);
  vm_->open_write({BlockId{0}, 3});
  vm_->close({BlockId{2}, 1});
  EXPECT_EQ(state(2), closed);
  EXPECT_EQ(table_->state(base + 3 * block_bytes), 0);
}

}  // namespace
}  // namespace musubi::vm
