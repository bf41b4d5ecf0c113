#include "runtime/api/threads.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace musubi::runtime {
namespace {

// Records the notices about stacks.
class NotedThreads final : public Threads {
 public:
  int notes = 0;
  std::size_t slot = 0;
  const void* low = nullptr;
  const void* high = nullptr;

  bool attach() override { return true; }
  void detach() override {}
  void add_outsider() noexcept override {}
  void remove_outsider() noexcept override {}
  void expect_outsiders() noexcept override {}
  ThreadStack take_stack() override { return {}; }
  std::optional<ThreadStack> take_spare_stack() override { return {}; }
  void give_back_stack(const ThreadStack&) override {}
  void note_stack(std::size_t of_slot, const void* from, const void* to) noexcept override {
    ++notes;
    slot = of_slot;
    low = from;
    high = to;
  }
  void set_count(std::uint32_t) noexcept override {}
  void wait_local(const std::atomic<std::uint32_t>*, std::uint32_t) override {}
  void wake_local(const std::atomic<std::uint32_t>*) override {}
};

class ThreadStackTest : public testing::Test {
 protected:
  ~ThreadStackTest() override { forget_stack(); }

  std::array<std::byte, 256> memory;
  const ThreadStack stack{memory.data(), memory.data() + memory.size(), 7};
  NotedThreads threads;
};

TEST_F(ThreadStackTest, NotesFromTheFrameToTheEndThatWasGiven) {
  adopt_stack(threads, stack, stack.low + 200);
  note_stack(stack.low + 100);
  EXPECT_EQ(threads.notes, 1);
  EXPECT_EQ(threads.slot, 7U);
  EXPECT_EQ(threads.low, stack.low + 100);
  EXPECT_EQ(threads.high, stack.low + 200);
}

TEST_F(ThreadStackTest, LeavesFramesElsewhereAlone) {
  adopt_stack(threads, stack, stack.low + 200);
  note_stack(stack.low - 1);
  note_stack(stack.low + 200);
  EXPECT_EQ(threads.notes, 0);
}

TEST_F(ThreadStackTest, NotesTheLowestByte) {
  adopt_stack(threads, stack, stack.high);
  note_stack(stack.low);
  EXPECT_EQ(threads.low, stack.low);
  EXPECT_EQ(threads.high, stack.high);
}

TEST_F(ThreadStackTest, NotesNothingOnceForgotten) {
  adopt_stack(threads, stack, stack.high);
  forget_stack();
  note_stack(stack.low + 100);
  EXPECT_EQ(threads.notes, 0);
}

TEST_F(ThreadStackTest, IsTheCallingThreadsOnly) {
  adopt_stack(threads, stack, stack.high);
  std::thread([this] { note_stack(stack.low + 100); }).join();
  EXPECT_EQ(threads.notes, 0);
}

TEST_F(ThreadStackTest, RefusesAnEndOutsideOfTheStack) {
  EXPECT_DEATH(adopt_stack(threads, stack, stack.high + 1), "");
}

}  // namespace
}  // namespace musubi::runtime
