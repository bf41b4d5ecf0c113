// A rank that is asked for what a task made, and has nothing of it, asks on where that has gone.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "task_stealing/stealing.h"

namespace musubi::task_stealing {
namespace {

constexpr Rank self{1}, asker{0}, holder{2}, thief{3};
constexpr std::uint64_t task = 77, ancestor = 5;

class NoExecutor final : public Executor {
 public:
  void ready(std::coroutine_handle<>) noexcept override { ADD_FAILURE() << "nothing here waits"; }
  void ready_after_pause(std::coroutine_handle<> resumed, unsigned) noexcept override { ready(resumed); }
};

// One task of rank 1, made by the task that came from rank 0 under the number `ancestor`.
class Ports final : public Calls, public Order, public LocalTasks, public Bell {
 public:
  Task<Answer> ask(Rank callee, std::span<const std::byte> request, std::span<std::byte> answer) override {
    asked.push_back({callee, ParcelView::of(request)->head});
    ParcelWriter nothing;
    const auto bytes = nothing.bytes();
    std::copy(bytes.begin(), bytes.end(), answer.begin());
    co_return Answer{bytes.size(), 1000};
  }
  Task<> release() override { co_return; }
  std::uint64_t acquired(Rank) const noexcept override { return 0; }
  std::size_t news_since(std::uint64_t, std::span<std::byte>) noexcept override { return 0; }
  Task<> acquire(Rank, std::span<const std::byte>) override { co_return; }

  bool is_open() const noexcept override { return opened; }
  std::uint32_t load() const noexcept override { return is_here; }
  bool is_hungry() const noexcept override { return false; }
  bool take(const Choice& choice, std::span<std::byte>, Departure& departure) noexcept override {
    if (!is_here || (choice.kind == Choice::Kind::below && !is_below(task, choice.origin))) return false;
    departure = {task, std::nullopt, 0, 8};
    is_here = false;
    return true;
  }
  std::optional<Rank> giver_of_ready() noexcept override {
    return is_here ? std::optional(asker) : std::nullopt;
  }
  void departed() noexcept override {}
  bool is_below(std::uint64_t asked_for, const Origin& of) noexcept override {
    return asked_for == task && of == Origin{asker, 0, ancestor};
  }
  void arrive(const Origin&, std::span<const std::byte>) noexcept override { ++arrived; }
  void come_home(std::uint64_t) noexcept override { is_here = true; }
  void ended(std::uint64_t) noexcept override {}
  void subtree_ended(std::uint64_t) noexcept override {}
  bool fulfilled(std::uint64_t) noexcept override { return false; }
  void leave_stolen_work(bool leave) noexcept override { leaves = leave; }
  void peer_waits(bool) noexcept override {}
  void meeting_over() noexcept override {}
  void ring() noexcept override {}

  struct Asked {
    Rank callee;
    ParcelHead head;
  };
  std::vector<Asked> asked;
  bool is_here = true;
  bool opened = true;
  unsigned arrived = 0;
  bool leaves = false;
};

class Wishes : public testing::Test {
 protected:
  // Result: tasks in the answer.
  unsigned answer(Rank from, ParcelWriter& question) {
    std::array<std::byte, message_bytes_max> room;
    auto answering = stealing.answer(from, question.bytes(), room);
    answering.start(executor, nullptr);
    EXPECT_TRUE(answering.done());
    const std::optional<std::size_t> bytes = answering.result();
    return bytes ? ParcelView::of(std::span<const std::byte>(room).first(*bytes))->head.tasks : 0;
  }
  unsigned answer_wish(std::uint64_t below) {
    ParcelWriter wish;
    wish.head.wanted = 1;
    wish.head.below = below;
    return answer(asker, wish);
  }
  void turn(std::uint64_t now_ns) {
    auto turning = stealing.turn(now_ns);
    turning.start(executor, nullptr);
    EXPECT_TRUE(turning.done());
  }
  // The task leaves for `thief`, and goes on to `holder`.
  std::uint64_t send_away() {
    ParcelWriter question;
    question.head.wanted = 1;
    EXPECT_EQ(answer(thief, question), 1u);
    ParcelWriter moved;
    const std::uint64_t number = std::uint64_t{1} << 32;
    moved.add(Report{number, Reported::moved, 2, holder.value, 0});
    answer(thief, moved);
    return number;
  }

  NoExecutor executor;
  Ports ports;
  trace::Counters counters;
  Stealing stealing{{self, 4, {}, 1}, {}, {ports, ports, ports, ports, counters}};
};

TEST_F(Wishes, AreAnsweredByATaskThatIsHere) {
  EXPECT_EQ(answer_wish(ancestor + 1), 0u);
  EXPECT_EQ(answer_wish(ancestor), 1u);
}

TEST_F(Wishes, GoOnOnceToTheRankThatHasTheTask) {
  const std::uint64_t number = send_away();
  EXPECT_EQ(answer_wish(ancestor), 0u);
  turn(1'000'000);
  ASSERT_EQ(ports.asked.size(), 1u);
  EXPECT_EQ(ports.asked[0].callee, holder);
  EXPECT_EQ(ports.asked[0].head.below, number);
  turn(100'000'000);
  EXPECT_EQ(ports.asked.size(), 1u) << "the rank that waits asks again";
  EXPECT_EQ(answer_wish(ancestor + 1), 0u);
  turn(200'000'000);
  EXPECT_EQ(ports.asked.size(), 1u) << "that task has not made it";
}

TEST_F(Wishes, OfAThreadStayUntilItIsOver) {
  send_away();
  stealing.want_back([](std::uint64_t) { return true; });
  turn(1'000'000);
  turn(100'000'000);
  EXPECT_EQ(ports.asked.size(), 2u);
  stealing.forget_wishes();
  turn(200'000'000);
  EXPECT_EQ(ports.asked.size(), 2u);
}

// A third of the time is the limit.
TEST_F(Wishes, WorkThatWaitsForItsDataGoesBack) {
  stealing.work_begins();
  turn(1'000'000);
  counters.add(trace::Counter::fault_ns, 600'000);
  turn(3'000'000);
  EXPECT_TRUE(ports.asked.empty());
  EXPECT_FALSE(ports.leaves);
  turn(4'000'000);
  counters.add(trace::Counter::fault_ns, 700'000);
  turn(6'000'000);
  EXPECT_TRUE(ports.leaves);
  ASSERT_EQ(ports.asked.size(), 1u);
  EXPECT_EQ(ports.asked[0].callee, asker);
  EXPECT_EQ(ports.asked[0].head.tasks, 1u);
  turn(133'000'000);
  EXPECT_TRUE(ports.leaves) << "two milliseconds were lost";
  turn(135'000'000);
  EXPECT_FALSE(ports.leaves);
}

// They would be sent back at once.
TEST_F(Wishes, AreNotAskedForWhileTheRankRests) {
  send_away();
  stealing.work_begins();
  turn(1'000'000);
  counters.add(trace::Counter::fault_ns, 2'000'000);
  turn(3'000'000);
  ASSERT_TRUE(ports.leaves);
  stealing.want_back([](std::uint64_t) { return true; });
  turn(4'000'000);
  turn(130'000'000);
  EXPECT_TRUE(ports.asked.empty());
  turn(132'000'000);
  EXPECT_EQ(ports.asked.size(), 1u);
}

TEST_F(Wishes, TasksThatComeTooEarlyWait) {
  ParcelWriter push;
  (void)push.task_room();
  push.add_task({asker, 1, 9}, 8);
  ports.opened = false;
  answer(asker, push);
  turn(1'000'000);
  EXPECT_EQ(ports.arrived, 0u);
  ports.opened = true;
  turn(2'000'000);
  EXPECT_EQ(ports.arrived, 1u);
  turn(3'000'000);
  EXPECT_EQ(ports.arrived, 1u);
}

}  // namespace
}  // namespace musubi::task_stealing
