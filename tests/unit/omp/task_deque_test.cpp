// The deque of ready tasks: its owner's order, claims that thieves give back, and threads that race for
// tasks.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "omp/tasks/deque.h"

namespace musubi::testing {
namespace {

using omp::TaskDeque;
using omp::TaskRecord;

const auto any = [](const TaskRecord&) { return true; };
const auto none = [](const TaskRecord&) { return false; };

TEST(TaskDeque, gives_the_owner_the_newest_and_thieves_the_oldest) {
  std::array<TaskRecord, 3> records;
  TaskDeque deque;
  for (TaskRecord& record : records) EXPECT_TRUE(deque.push(&record));
  EXPECT_EQ(&records[2], deque.pop());
  EXPECT_EQ(&records[0], deque.steal(any));
  EXPECT_EQ(1u, deque.size());
  EXPECT_EQ(&records[1], deque.pop());
  EXPECT_EQ(nullptr, deque.pop());
  EXPECT_EQ(nullptr, deque.steal(any));
}

TEST(TaskDeque, keeps_a_task_that_a_thief_does_not_want) {
  TaskRecord record;
  TaskDeque deque;
  deque.push(&record);
  EXPECT_EQ(nullptr, deque.steal(none));
  EXPECT_EQ(1u, deque.size());
  EXPECT_EQ(&record, deque.pop());
}

TEST(TaskDeque, gives_only_tasks_from_a_position_on) {
  std::array<TaskRecord, 2> records;
  TaskDeque deque;
  deque.push(&records[0]);
  const std::uint64_t position = deque.position();
  EXPECT_EQ(nullptr, deque.pop(position));
  deque.push(&records[1]);
  EXPECT_EQ(&records[1], deque.pop(position));
  EXPECT_EQ(nullptr, deque.pop(position));
  EXPECT_EQ(&records[0], deque.pop());
}

TEST(TaskDeque, holds_as_many_as_it_says) {
  std::vector<TaskRecord> records(TaskDeque::capacity + 1);
  TaskDeque deque;
  for (std::uint32_t i = 0; i < TaskDeque::capacity; ++i) EXPECT_TRUE(deque.push(&records[i]));
  EXPECT_FALSE(deque.push(&records.back()));
  EXPECT_EQ(&records[0], deque.steal(any));
  EXPECT_TRUE(deque.push(&records.back()));
}

TEST(TaskDeque, positions_do_not_fall_when_all_tasks_go) {
  std::array<TaskRecord, 3> records;
  TaskDeque deque;
  for (TaskRecord& record : records) deque.push(&record);
  const std::uint64_t position = deque.position();
  std::vector<TaskRecord*> given;
  deque.drain([&](TaskRecord* record) { given.push_back(record); });
  EXPECT_EQ((std::vector<TaskRecord*>{&records[0], &records[1], &records[2]}), given);
  EXPECT_EQ(position, deque.position());
  EXPECT_EQ(nullptr, deque.pop());
  deque.push(&records[1]);
  EXPECT_EQ(&records[1], deque.pop(position));
}

// Each task is taken once; every second thief gives most of its claims back.
TEST(TaskDeque, loses_and_doubles_nothing_under_threads) {
  constexpr int count = 200000, thieves = 3;
  const std::unique_ptr<TaskRecord[]> records(new TaskRecord[count]);
  const std::unique_ptr<std::atomic<int>[]> taken(new std::atomic<int>[count]());
  TaskDeque deque;
  std::atomic<bool> over{false};
  const auto note = [&](const TaskRecord* record) { taken[record - records.get()].fetch_add(1); };
  std::vector<std::thread> threads;
  for (int thief = 0; thief < thieves; ++thief) {
    threads.emplace_back([&, thief] {
      std::uint32_t looks = 0;
      const auto wanted = [&](const TaskRecord&) { return thief % 2 == 0 || ++looks % 8 == 0; };
      while (!over.load()) {
        if (const TaskRecord* record = deque.steal(wanted)) note(record);
      }
    });
  }
  for (int i = 0; i < count;) {
    for (int pushed = 0; pushed < i % 7 + 1 && i < count; ++pushed, ++i) {
      if (!deque.push(&records[i])) note(&records[i]);
    }
    for (int popped = 0; popped < i % 5; ++popped) {
      if (const TaskRecord* record = deque.pop()) note(record);
    }
  }
  while (const TaskRecord* record = deque.pop()) note(record);
  over.store(true);
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < count; ++i) ASSERT_EQ(1, taken[i].load()) << i;
}

}  // namespace
}  // namespace musubi::testing
