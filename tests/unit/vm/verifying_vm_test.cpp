// A hidden block is closed for the program and open for the protocol, until a check or a fault reveals it.
#include "vm/checked/verifying_vm.h"

#include <gtest/gtest.h>

#include <map>

namespace musubi::vm {
namespace {

constexpr std::size_t block_bytes = 4096;
constexpr std::uintptr_t base = 0x510000000000;

class Pages final : public Vm {
 public:
  void open_read(BlockRun run) noexcept override { set(run, Access::none, Access::read); }
  void open_write(BlockRun run) noexcept override { set(run, Access::none, Access::write); }
  void upgrade(BlockRun run) noexcept override { set(run, Access::read, Access::write); }
  void downgrade(BlockRun run) noexcept override { set(run, Access::write, Access::read); }
  void close(BlockRun run) noexcept override {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      EXPECT_NE(access[run.first.value + i], Access::none);
      access[run.first.value + i] = Access::none;
    }
  }
  void leave_open(BlockRun run) noexcept override { set(run, Access::none, Access::write); }

  std::map<std::uint64_t, Access> access;

 private:
  void set(BlockRun run, Access before, Access after) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      EXPECT_EQ(access[run.first.value + i], before);
      access[run.first.value + i] = after;
    }
  }
};

class VerifyingVmTest : public testing::Test {
 protected:
  VerifyingVmTest() {
    add(base, 8, false);
    add(base + 64 * block_bytes, 4, true);
  }
  void add(std::uintptr_t address, std::size_t blocks, bool holds_stacks) {
    Segment segment;
    segment.name = "a segment";
    segment.base = address;
    segment.bytes = blocks * block_bytes;
    segment.block_bytes = block_bytes;
    segment.holds_stacks = holds_stacks;
    space_.add(segment);
  }
  static AddressRange part(std::uint64_t block, std::size_t blocks) {
    return {base + block * block_bytes + 5, (blocks - 1) * block_bytes + 1};
  }
  Access pages(std::uint64_t block) { return pages_.access[block]; }

  Space space_{1};
  Pages pages_;
  VerifyingVm vm_{pages_, space_, VerifyingVm::Shows::what_is_opened};
};

TEST_F(VerifyingVmTest, HidesAtEachSynchronisationAndLaterAtOneOfMany) {
  vm_.open_write({BlockId{0}});
  const auto hides = [this] {
    vm_.synchronised();
    return vm_.reveal(part(0, 1), Access::write);
  };
  for (std::uint64_t i = 0; i < VerifyingVm::always_hides; ++i) EXPECT_TRUE(hides());
  std::uint64_t hidden = 0;
  for (std::uint64_t i = 0; i < 100 * VerifyingVm::hides_each; ++i) hidden += hides();
  EXPECT_EQ(hidden, 100);
}

TEST_F(VerifyingVmTest, HidesWhatIsOpenUntilItIsRevealed) {
  vm_.open_read({BlockId{0}, 2});
  vm_.open_write({BlockId{2}, 2});
  EXPECT_FALSE(vm_.reveal(part(0, 4), Access::write));
  vm_.hide();
  for (const std::uint64_t block : {0U, 1U, 2U, 3U}) EXPECT_EQ(pages(block), Access::none);
  EXPECT_TRUE(vm_.reveal(part(1, 2), Access::write));
  EXPECT_EQ(pages(0), Access::none);
  EXPECT_EQ(pages(1), Access::read);
  EXPECT_EQ(pages(2), Access::write);
  EXPECT_EQ(pages(3), Access::none);
  EXPECT_FALSE(vm_.reveal(part(4, 4), Access::write));
}

TEST_F(VerifyingVmTest, ShowsNoMoreThanIsWanted) {
  vm_.open_write({BlockId{0}, 2});
  vm_.hide();
  EXPECT_TRUE(vm_.reveal(part(0, 2), Access::read));
  EXPECT_EQ(pages(0), Access::read);
  EXPECT_FALSE(vm_.may_be_checked(BlockId{0}, Access::write));
  EXPECT_FALSE(vm_.reveal(part(0, 1), Access::read));
  EXPECT_TRUE(vm_.reveal(part(0, 1), Access::write));
  EXPECT_EQ(pages(0), Access::write);
  vm_.downgrade({BlockId{1}});
  EXPECT_EQ(pages(1), Access::read);
}

TEST_F(VerifyingVmTest, TheProtocolGoesOnWithHiddenBlocks) {
  vm_.open_read({BlockId{0}});
  vm_.open_write({BlockId{1}, 2});
  vm_.hide();
  vm_.upgrade({BlockId{0}});
  EXPECT_EQ(pages(0), Access::write);
  vm_.downgrade({BlockId{1}});
  EXPECT_EQ(pages(1), Access::read);
  vm_.close({BlockId{2}});
  EXPECT_EQ(pages(2), Access::none);
  EXPECT_FALSE(vm_.reveal(part(0, 3), Access::write));
}

TEST_F(VerifyingVmTest, ShowsTouchedBlocksAloneForARecording) {
  VerifyingVm vm(pages_, space_, VerifyingVm::Shows::what_is_touched);
  vm.open_write({BlockId{0}, 3});
  for (const std::uint64_t block : {0U, 1U, 2U}) EXPECT_EQ(pages(block), Access::none);
  EXPECT_TRUE(vm.reveal(part(0, 1), Access::read));
  EXPECT_TRUE(vm.reveal(part(1, 1), Access::write));
  EXPECT_EQ(vm.touched(BlockId{0}), Access::read);
  EXPECT_EQ(pages(0), Access::read);
  EXPECT_EQ(vm.touched(BlockId{1}), Access::write);
  EXPECT_EQ(vm.touched(BlockId{2}), Access::none);
  vm.close({BlockId{1}});
  vm.open_write({BlockId{1}});
  EXPECT_EQ(pages(1), Access::write);  // another rank had it in between
  vm.hide();
  EXPECT_EQ(pages(1), Access::none);
  EXPECT_EQ(vm.touched(BlockId{1}), Access::none);
  vm.open_read({BlockId{8}});
  EXPECT_EQ(pages(8), Access::read);  // a stack
}

TEST_F(VerifyingVmTest, KnowsBlocksThatWereOpenSinceItHid) {
  vm_.open_write({BlockId{0}});
  vm_.hide();
  EXPECT_FALSE(vm_.may_be_checked(BlockId{0}, Access::read));
  vm_.reveal(part(0, 1), Access::write);
  vm_.downgrade({BlockId{0}});
  EXPECT_TRUE(vm_.may_be_checked(BlockId{0}, Access::write));
  vm_.close({BlockId{0}});
  EXPECT_TRUE(vm_.may_be_checked(BlockId{0}, Access::write));
  vm_.open_read({BlockId{0}});
  vm_.hide();
  vm_.reveal(part(0, 1), Access::write);
  EXPECT_TRUE(vm_.may_be_checked(BlockId{0}, Access::read));
  EXPECT_FALSE(vm_.may_be_checked(BlockId{0}, Access::write));
}

// States of a segment are set when its first block opens.
TEST_F(VerifyingVmTest, NothingIsKnownOfABlockUntilTheEndOfItsFirstTurn) {
  EXPECT_TRUE(vm_.may_be_checked(BlockId{0}, Access::write));
  vm_.hide();
  EXPECT_TRUE(vm_.may_be_checked(BlockId{0}, Access::write));
  vm_.open_read({BlockId{0}});
  EXPECT_TRUE(vm_.may_be_checked(BlockId{0}, Access::write));
  vm_.hide();
  EXPECT_FALSE(vm_.may_be_checked(BlockId{0}, Access::read));
}

TEST_F(VerifyingVmTest, HidesAgainWhatWasRevealed) {
  vm_.open_write({BlockId{0}, 8});
  for (int turn = 0; turn < 3; ++turn) {
    vm_.hide();
    vm_.hide();
    EXPECT_EQ(pages(6), Access::none);
    EXPECT_TRUE(vm_.reveal(part(6, 1), Access::write));
    EXPECT_EQ(pages(6), Access::write);
    EXPECT_EQ(pages(7), Access::none);
  }
}

TEST_F(VerifyingVmTest, StacksAndWhatIsLeftOpenStay) {
  vm_.open_write({BlockId{8}});
  vm_.leave_open({BlockId{3}, 2});
  vm_.hide();
  EXPECT_EQ(pages(8), Access::write);
  EXPECT_EQ(pages(3), Access::write);
}

}  // namespace
}  // namespace musubi::vm
