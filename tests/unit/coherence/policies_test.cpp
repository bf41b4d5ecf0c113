// Each segment's policy gets its calls, and only these. Two policies that only record them.
#include "coherence/policies.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "coherence/no_ordering.h"
#include "manual_executor.h"

namespace musubi::coherence {
namespace {

class Noting final : public Protocol {
 public:
  Task<bool> fault(BlockId block, vm::Access) override {
    faults.push_back(block.value);
    co_return true;
  }
  Task<> release(Scope, bool) override {
    ++releases;
    co_return;
  }
  bool release_at_once(bool) override { return at_once; }
  Task<> acquire(SignatureView signature, Audience, Scope) override {
    for (const Notice& notice : signature.notices) heard.push_back(notice.block.value);
    minimum = signature.minimum;
    co_return;
  }
  std::uint64_t signature(SignatureSink&) override { return 0; }
  void forget(std::uint64_t) override {}
  LogicalTime clock() const override { return time; }
  Task<> acquire_clock(LogicalTime to) override {
    time = to;
    co_return;
  }
  Task<> modify(BlockId, Modification&) override { co_return; }
  void pin(BlockId first, std::uint64_t) override { pinned.push_back(first.value); }
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override { ++stacks; }
  void adopt(BlockId, std::uint64_t) override {}
  Ordering& ordering() override { return ordering_; }

  std::vector<std::uint64_t> faults, heard, pinned;
  unsigned releases = 0, stacks = 0;
  bool at_once = true;
  LogicalTime minimum, time;

 private:
  NoOrdering ordering_{*this};
};

// Blocks 0 to 3 have the first policy, 4 to 7 the second.
class PoliciesTest : public ::testing::Test {
 protected:
  PoliciesTest() {
    vm::Segment segment;
    segment.block_bytes = 4096;
    segment.bytes = 4 * 4096;
    segment.base = 0x10000;
    space_.add(segment);
    segment.base = 0x20000;
    segment.policy = 1;
    space_.add(segment);
    std::vector<std::unique_ptr<Protocol>> made;
    for (Noting*& one : noting_) {
      auto policy = std::make_unique<Noting>();
      one = policy.get();
      made.push_back(std::move(policy));
    }
    policies_ = std::make_unique<Policies>(space_, std::move(made), signature_, notices_max);
  }
  template <class Result>
  void run(Task<Result> task) {
    task.start(executor_, nullptr);
    executor_.run();
    ASSERT_TRUE(task.done());
  }

  static constexpr std::size_t notices_max = 8;
  vm::Space space_{2};
  std::vector<std::byte> board_ = std::vector<std::byte>(signature_bytes(notices_max));
  Signature signature_{board_.data(), notices_max};
  ManualExecutor executor_;
  std::array<Noting*, 2> noting_{};
  std::unique_ptr<Policies> policies_;
};

TEST_F(PoliciesTest, HaveTheFaultsOfTheirOwnBlocks) {
  for (const std::uint64_t block : {0u, 3u, 4u, 7u}) run(policies_->fault(BlockId{block}, vm::Access::read));
  EXPECT_EQ(noting_[0]->faults, (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(noting_[1]->faults, (std::vector<std::uint64_t>{4, 7}));
  run(policies_->ordering().fault(BlockId{5}, {vm::Access::read}));
  EXPECT_EQ(noting_[1]->faults.back(), 5u);
}

TEST_F(PoliciesTest, HearOfTheirOwnBlocksAndOfTheMinimum) {
  const std::array notices{Notice{BlockId{6}, LogicalTime{3}, {}, Rank{1}},
                           Notice{BlockId{1}, LogicalTime{4}, {}, Rank{1}},
                           Notice{BlockId{4}, LogicalTime{5}, {}, Rank{1}}};
  run(policies_->acquire({LogicalTime{2}, notices}, Audience::unknown, Scope::everything()));
  EXPECT_EQ(noting_[0]->heard, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(noting_[1]->heard, (std::vector<std::uint64_t>{6, 4}));
  for (const Noting* one : noting_) EXPECT_EQ(one->minimum, LogicalTime{2});
}

TEST_F(PoliciesTest, ReleaseWhatTheScopeOverlaps) {
  run(policies_->release(Scope::of_blocks({BlockId{2}, 2}), false));
  EXPECT_EQ(noting_[0]->releases, 1u);
  EXPECT_EQ(noting_[1]->releases, 0u);
  run(policies_->release(Scope::of_blocks({BlockId{3}, 2}), false));
  run(policies_->release(Scope::everything(), false));
  run(policies_->release(Scope::of_lock(LockId{5}, Rank{0}), false));
  EXPECT_EQ(noting_[0]->releases, 4u);
  EXPECT_EQ(noting_[1]->releases, 3u);
}

TEST_F(PoliciesTest, ReleaseAtOnceIfAllCan) {
  EXPECT_TRUE(policies_->release_at_once(true));
  noting_[1]->at_once = false;
  EXPECT_FALSE(policies_->release_at_once(true));
}

TEST_F(PoliciesTest, ShareTheLatestClock) {
  noting_[1]->time = LogicalTime{9};
  EXPECT_EQ(policies_->clock(), LogicalTime{9});
  run(policies_->acquire_clock(LogicalTime{11}));
  EXPECT_EQ(noting_[0]->time, LogicalTime{11});
}

TEST_F(PoliciesTest, NoteStacksWhereTheyLie) {
  policies_->note_stack(0, 0x20000, 0x21000);
  EXPECT_EQ(noting_[0]->stacks, 0u);
  EXPECT_EQ(noting_[1]->stacks, 1u);
  policies_->note_stack(0, 0, 0);
  EXPECT_EQ(noting_[0]->stacks, 1u);
  policies_->pin(BlockId{4}, 2);
  EXPECT_EQ(noting_[1]->pinned, (std::vector<std::uint64_t>{4}));
}

}  // namespace
}  // namespace musubi::coherence
