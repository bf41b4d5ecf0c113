// Operations that are only begun, over a fabric whose completions come late.
#include "runtime/threads/started_tasks.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <numeric>
#include <vector>

#include "fabric/transfer.h"

namespace musubi::runtime {
namespace {

using State = StartedTasks::State;

// Completes one batch in each third progress(), the most recent first; accepts at most three.
class LateFabric final : public fabric::Fabric {
 public:
  Rank self() const noexcept override { return Rank{0}; }
  std::uint32_t ranks() const noexcept override { return 2; }
  fabric::Capabilities capabilities(Rank) const noexcept override { return {}; }
  fabric::Outcome post(Rank, std::span<const fabric::Step> steps, Event& completion) noexcept override {
    if (batches_.size() == 3) {
      ++busy;
      return fabric::Outcome::busy;
    }
    batches_.push_back({steps, &completion});
    return fabric::Outcome::pending;
  }
  fabric::Outcome send(Rank, fabric::MessageKind, fabric::Urgency,
                       std::span<const std::byte>) noexcept override {
    return fabric::Outcome::done;
  }
  void listen(fabric::MessageKind, fabric::Listener*) noexcept override {}
  void offer(fabric::ProcedureId, fabric::Procedure) noexcept override {}
  bool progress() noexcept override {
    if (++turns_ % 3 != 0 || batches_.empty()) return false;
    const Batch batch = batches_.back();
    batches_.pop_back();
    for (const fabric::Step& step : batch.steps) {
      std::byte* const remote = memory.data() + step.offset;
      const bool is_put = step.verb == fabric::Verb::put;
      std::memcpy(is_put ? remote : step.local, is_put ? step.local : remote, step.bytes);
    }
    batch.completion->set();
    return true;
  }
  void wait(const std::atomic<bool>&) noexcept override {}
  void wake() noexcept override {}
  void wait_for_service() noexcept override {}
  void wake_service() noexcept override {}
  std::byte* direct(Rank, fabric::RegionId) noexcept override { return nullptr; }
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override {
    return word.load() != unwanted;
  }

  std::array<std::byte, 4096> memory{};
  int busy = 0;

 private:
  struct Batch {
    std::span<const fabric::Step> steps;
    Event* completion;
  };
  std::deque<Batch> batches_;
  int turns_ = 0;
};

Task<> carry_out(fabric::Fabric& fabric, fabric::Step step) {
  co_await fabric::transfer(fabric, Rank{1}, std::span{&step, 1});
}
Task<> nothing() {
  co_return;
}

class StartedTasksTest : public testing::Test {
 protected:
  StartedTasks::Handle start(const fabric::Step& step) { return tasks.start(carry_out(fabric, step)); }

  trace::Counters counters;
  LateFabric fabric;
  ThreadExecutor executor{fabric, counters, ThreadExecutor::Pauses::sleep};
  StartedTasks tasks{executor};
  const fabric::RegionId region{4};
};

TEST_F(StartedTasksTest, ManyAreUnderWayAtOnce) {
  std::vector<std::uint64_t> out(100), in(100);
  std::iota(out.begin(), out.end(), 7);
  std::vector<StartedTasks::Handle> handles;
  for (std::size_t i = 0; i < out.size(); ++i) {
    handles.push_back(start(fabric::put(region, 8 * i, &out[i], 8)));
    EXPECT_GT(handles.back(), 0);
  }
  EXPECT_GT(fabric.busy, 0);
  for (const auto handle : handles) EXPECT_EQ(tasks.wait(handle), State::done);
  EXPECT_EQ(std::memcmp(fabric.memory.data(), out.data(), 800), 0);
  handles.clear();
  for (std::size_t i = 0; i < in.size(); ++i) handles.push_back(start(fabric::get(region, 8 * i, &in[i], 8)));
  tasks.wait_for_all();
  EXPECT_EQ(in, out);
  for (const auto handle : handles) EXPECT_EQ(tasks.test(handle), State::unknown);
}

TEST_F(StartedTasksTest, ATestLetsTheTaskGoOnAndNeverBlocks) {
  std::uint64_t value = 5;
  const auto handle = start(fabric::put(region, 0, &value, 8));
  int tests = 1;
  while (tasks.test(handle) == State::under_way) ++tests;
  EXPECT_EQ(tests, 3);
  EXPECT_EQ(tasks.test(handle), State::unknown);
  EXPECT_EQ(tasks.wait(handle), State::unknown);
}

TEST_F(StartedTasksTest, AnotherTaskOfTheThreadLetsThemGoOn) {
  std::uint64_t first = 5, second = 6;
  const auto handle = start(fabric::put(region, 0, &first, 8));
  executor.run(carry_out(fabric, fabric::put(region, 8, &second, 8)));  // completes first
  executor.run(carry_out(fabric, fabric::put(region, 8, &second, 8)));
  EXPECT_EQ(tasks.test(handle), State::under_way);
  EXPECT_EQ(tasks.wait(handle), State::done);
  EXPECT_EQ(static_cast<int>(fabric.memory[0]), 5);
}

TEST_F(StartedTasksTest, WhatIsDoneAtOnceHasNoHandle) {
  EXPECT_EQ(tasks.start(nothing()), 0);
  EXPECT_EQ(tasks.test(0), State::done);
  EXPECT_EQ(tasks.wait(0), State::done);
}

TEST_F(StartedTasksTest, AHandleOfAPlaceThatIsUsedAgainIsUnknown) {
  std::uint64_t value = 5;
  const auto old_handle = start(fabric::put(region, 0, &value, 8));
  EXPECT_EQ(tasks.wait(old_handle), State::done);
  const auto new_handle = start(fabric::put(region, 0, &value, 8));
  EXPECT_NE(old_handle, new_handle);
  EXPECT_EQ(tasks.test(old_handle), State::unknown);
  EXPECT_EQ(tasks.test(-1), State::unknown);
  EXPECT_EQ(tasks.wait(new_handle), State::done);
}

}  // namespace
}  // namespace musubi::runtime
