#include "base/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/event.h"
#include "manual_executor.h"

namespace musubi {
namespace {

Task<int> seven() {
  co_return 7;
}
Task<int> after(Event* event, int value) {
  co_await *event;
  co_return value;
}
Task<int> sum(Event* event) {
  const int first = co_await seven();
  const int second = co_await after(event, 30);
  co_return first + second;
}
Task<> store(Event* event, std::string* log, std::string text) {
  co_await *event;
  *log += text;
}

class Ended final : public PromiseBase::Observer {
 public:
  void task_ended() noexcept override { ++times; }
  int times = 0;
};

TEST(Task, DoesNotRunBeforeStart) {
  Event event;
  std::string log;
  event.set();
  ManualExecutor executor;
  Task<> task = store(&event, &log, "x");
  EXPECT_EQ(log, "");
  task.start(executor, nullptr);
  EXPECT_EQ(log, "x");
  EXPECT_TRUE(task.done());
}

TEST(Task, FinishesAtOnceWhenNothingSuspends) {
  ManualExecutor executor;
  Ended ended;
  Task<int> task = seven();
  task.start(executor, &ended);
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 7);
  EXPECT_EQ(ended.times, 1);
  EXPECT_EQ(executor.run(), 0u);
}

TEST(Task, ResumesTheParentWhenASuspendedChildEnds) {
  ManualExecutor executor;
  Ended ended;
  Event event;
  Task<int> task = sum(&event);
  task.start(executor, &ended);
  EXPECT_FALSE(task.done());
  EXPECT_EQ(ended.times, 0);
  event.set();
  EXPECT_FALSE(task.done()) << "set() must leave the resumption to the executor";
  EXPECT_EQ(executor.run(), 1u);
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 37);
  EXPECT_EQ(ended.times, 1);
}

Task<std::uint64_t> count_children(std::uint64_t number) {
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < number; ++i) total += co_await seven();
  co_return total;
}

TEST(Task, ALoopOfChildrenDoesNotGrowTheStack) {
  ManualExecutor executor;
  Task<std::uint64_t> task = count_children(1'000'000);
  task.start(executor, nullptr);
  ASSERT_TRUE(task.done());
  EXPECT_EQ(task.result(), 7'000'000u);
}

Task<std::unique_ptr<int>> make_unique_task() {
  co_return std::make_unique<int>(5);
}

TEST(Task, CarriesResultsThatOnlyMove) {
  ManualExecutor executor;
  Task<std::unique_ptr<int>> task = make_unique_task();
  task.start(executor, nullptr);
  EXPECT_EQ(*task.result(), 5);
}

struct Alive {
  explicit Alive(int* count) : count_(count) { ++*count_; }
  Alive(const Alive& other) : count_(other.count_) { ++*count_; }
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --*count_; }
  int* count_;
};
Task<> hold(Event* event, Alive alive) {
  co_await *event;
  (void)alive;
}

TEST(Task, DestructionReleasesAFrameThatWaits) {
  int alive = 0;
  Event event;
  {
    ManualExecutor executor;
    Task<> first = hold(&event, Alive(&alive));
    Task<> moved = std::move(first);
    moved.start(executor, nullptr);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

Task<> pause_thrice() {
  for (unsigned attempt = 0; attempt < 3; ++attempt) co_await pause(attempt);
}

TEST(Task, PauseGivesTheAttemptToTheExecutor) {
  ManualExecutor executor;
  Task<> task = pause_thrice();
  task.start(executor, nullptr);
  EXPECT_EQ(executor.run(), 3u);
  EXPECT_TRUE(task.done());
  EXPECT_EQ(executor.pauses, 3u);
  EXPECT_EQ(executor.last_attempt, 2u);
}

}  // namespace
}  // namespace musubi
