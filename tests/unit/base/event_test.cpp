#include "base/event.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/task.h"
#include "cross_thread_executor.h"
#include "manual_executor.h"

namespace musubi {
namespace {

Task<> await_and_log(Event* event, std::string* log) {
  co_await *event;
  *log += "e";
}

TEST(Event, BeforeAndAfterTheWait) {
  ManualExecutor executor;
  std::string log;
  Event early, late;
  early.set();
  EXPECT_TRUE(early.is_set());
  Task<> first = await_and_log(&early, &log);
  first.start(executor, nullptr);
  EXPECT_EQ(log, "e");
  Task<> second = await_and_log(&late, &log);
  second.start(executor, nullptr);
  EXPECT_EQ(log, "e");
  late.set();
  late.set();  // a second time is harmless
  executor.run();
  EXPECT_EQ(log, "ee");
}

TEST(Event, MayBeUsedAgainAfterReset) {
  ManualExecutor executor;
  std::string log;
  Event event;
  for (int round = 0; round < 3; ++round) {
    Task<> task = await_and_log(&event, &log);
    task.start(executor, nullptr);
    EXPECT_FALSE(task.done());
    event.set();
    executor.run();
    EXPECT_TRUE(task.done());
    event.reset();
    EXPECT_FALSE(event.is_set());
  }
  EXPECT_EQ(log, "eee");
}

TEST(Event, SetByAnotherThreadWhileTheWaitBegins) {
  constexpr int rounds = 2000;
  std::string log;
  std::atomic<Event*> offered{nullptr};
  std::thread setter([&] {
    for (int round = 0; round < rounds; ++round) {
      Event* event = nullptr;
      while ((event = offered.exchange(nullptr)) == nullptr) ::sched_yield();
      event->set();
    }
  });
  CrossThreadExecutor executor;
  for (int round = 0; round < rounds; ++round) {
    Event event;
    Task<> task = await_and_log(&event, &log);
    offered.store(&event);
    task.start(executor, nullptr);
    executor.run_until_done(task);
  }
  setter.join();
  EXPECT_EQ(log.size(), std::size_t{rounds});
}

Task<> pass_gate(Gate* gate, Event* hold, std::string* log, char name) {
  const Gate::Pass pass = co_await gate->enter();
  *log += name;
  co_await *hold;
  *log += static_cast<char>(name - 'a' + 'A');
}

TEST(Gate, IsExclusiveAndFirstComeFirstServed) {
  ManualExecutor executor;
  Gate gate;
  std::string log;
  Event hold[4];
  Task<> tasks[4]{pass_gate(&gate, &hold[0], &log, 'a'), pass_gate(&gate, &hold[1], &log, 'b'),
                  pass_gate(&gate, &hold[2], &log, 'c'), pass_gate(&gate, &hold[3], &log, 'd')};
  for (auto& task : tasks) task.start(executor, nullptr);
  EXPECT_EQ(log, "a");
  for (int i = 3; i >= 0; --i) hold[i].set();
  executor.run();
  EXPECT_EQ(log, "aAbBcCdD");
  for (auto& task : tasks) EXPECT_TRUE(task.done());
}

TEST(Gate, IsFreeAgainAfterTheLastPass) {
  ManualExecutor executor;
  Gate gate;
  std::string log;
  Event open;
  open.set();
  for (char name : {'a', 'b'}) {
    Task<> task = pass_gate(&gate, &open, &log, name);
    task.start(executor, nullptr);
    EXPECT_TRUE(task.done());
  }
  EXPECT_EQ(log, "aAbB");
}

}  // namespace
}  // namespace musubi
