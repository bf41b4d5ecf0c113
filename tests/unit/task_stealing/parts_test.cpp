// The parts of task stealing that wait for no rank.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "task_stealing/absent_tasks.h"
#include "task_stealing/lineage.h"
#include "task_stealing/meeting.h"
#include "task_stealing/parcel.h"
#include "task_stealing/payoff.h"
#include "task_stealing/victims.h"

namespace musubi::task_stealing {
namespace {

constexpr Rank thief{3}, another{4};

TEST(AbsentTasks, ATaskEndsOnceAndThenLeavesOnce) {
  AbsentTasks absent;
  const std::uint64_t number = absent.enter(77, thief);
  EXPECT_EQ(absent.leave(number), std::nullopt) << "its body has not ended";
  EXPECT_EQ(absent.end(number), 77u);
  EXPECT_EQ(absent.end(number), std::nullopt);
  EXPECT_EQ(absent.come_home(number), std::nullopt) << "it has started";
  EXPECT_EQ(absent.leave(number), 77u);
  EXPECT_EQ(absent.leave(number), std::nullopt);
  EXPECT_EQ(absent.count(), 0u);
}

TEST(AbsentTasks, AnOldNumberNamesNoLaterTask) {
  AbsentTasks absent;
  const std::uint64_t first = absent.enter(1, thief);
  EXPECT_EQ(absent.come_home(first), 1u);
  const std::uint64_t second = absent.enter(2, thief);
  EXPECT_NE(first, second);
  EXPECT_EQ(absent.end(first), std::nullopt);
  EXPECT_EQ(absent.task_of(second), 2u);
  EXPECT_EQ(absent.task_of(first), 0u);
  EXPECT_EQ(absent.holder(first), std::nullopt);
}

TEST(AbsentTasks, TheLastMoveNamesTheHolderInWhateverOrderTheNewsCome) {
  AbsentTasks absent;
  const std::uint64_t number = absent.enter(1, thief);
  absent.move(number, 3, another);
  absent.move(number, 2, thief);
  EXPECT_EQ(absent.holder(number), another);
  absent.move(number + 1, 4, thief);  // of no task: it has come home
}

TEST(Lineage, KeepsTheInnermostTaskOfEachRank) {
  Lineage lineage;
  lineage.add({Rank{0}, 1, 10});
  lineage.add({Rank{1}, 1, 11});
  lineage.add({Rank{0}, 1, 12});
  EXPECT_EQ(lineage.number_at(Rank{0}), 12u);
  EXPECT_EQ(lineage.number_at(Rank{1}), 11u);
  EXPECT_EQ(lineage.number_at(Rank{2}), 0u);
  EXPECT_FALSE(lineage.is_full());
}

TEST(Lineage, ForgetsTheOutermostRankWithoutRoom) {
  Lineage lineage;
  for (std::uint32_t rank = 0; rank < Lineage::ranks_max; ++rank) lineage.add({Rank{rank}, 1, 100 + rank});
  EXPECT_TRUE(lineage.is_full());
  lineage.add({Rank{50}, 1, 150});
  EXPECT_EQ(lineage.number_at(Rank{0}), 0u);
  EXPECT_EQ(lineage.number_at(Rank{1}), 101u);
  EXPECT_EQ(lineage.number_at(Rank{50}), 150u);
}

TEST(Parcel, CarriesItsPartsTogether) {
  ParcelWriter writer;
  writer.add(Report{5, Reported::both, 0, 0, 0});
  const std::span<std::byte> room = writer.task_room();
  ASSERT_GT(room.size(), 300u);
  std::memcpy(room.data(), "image", 5);
  writer.add_task({another, 2, 9}, 5);
  std::memcpy(writer.news_room().data(), "news", 4);
  writer.add_news(4);
  const auto view = ParcelView::of(writer.bytes());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->report(0).number, 5u);
  unsigned tasks = 0;
  view->for_each_task([&](const Origin& origin, std::span<const std::byte> image) {
    ++tasks;
    EXPECT_EQ(origin, (Origin{another, 2, 9}));
    EXPECT_EQ(origin.moves, 2u);
    EXPECT_EQ(std::memcmp(image.data(), "image", 5), 0);
    EXPECT_EQ(image.size(), 5u);
  });
  EXPECT_EQ(tasks, 1u);
  EXPECT_EQ(std::memcmp(view->news.data(), "news", 4), 0);
}

TEST(Parcel, OneCutShortOrWithUnknownReportsIsRefused) {
  ParcelWriter writer;
  writer.add(Report{5, Reported::ended, 0, 0, 0});
  (void)writer.task_room();
  writer.add_task({another, 2, 9}, 100);
  const std::span<const std::byte> whole = writer.bytes();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_FALSE(ParcelView::of(whole.first(bytes))) << bytes;
  ParcelWriter unknown;
  unknown.add(Report{5, static_cast<Reported>(7), 0, 0, 0});
  EXPECT_FALSE(ParcelView::of(unknown.bytes()));
}

// Each rank comes in turn; its steps are delivered at once.
void take(std::deque<Meeting>& meetings, std::uint32_t rank, Meeting::Next next, std::uint64_t number) {
  if (next == Meeting::Next::tell_parent) {
    const std::uint32_t parent = meetings[rank].parent().value;
    bool refused = false;
    const Meeting::Next then = meetings[parent].child_done(number, refused);
    EXPECT_FALSE(refused);
    take(meetings, parent, then, number);
  } else if (next == Meeting::Next::over) {
    std::vector<std::uint32_t> told{rank};
    while (!told.empty()) {
      Meeting& meeting = meetings[told.back()];
      told.pop_back();
      for (std::uint32_t i = 0; i < meeting.children(); ++i) {
        const std::uint32_t child = meeting.child(i).value;
        EXPECT_TRUE(meetings[child].go_on(number));
        told.push_back(child);
      }
    }
  }
}

TEST(Meeting, IsOverWhenAllRanksAreDone) {
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
    std::deque<Meeting> meetings;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) meetings.emplace_back(Rank{rank}, ranks);
    for (std::uint64_t number = 0; number < 3; ++number) {
      for (std::uint32_t i = 0; i < ranks; ++i) {
        for (const Meeting& meeting : meetings) EXPECT_FALSE(meeting.is_over(number));
        const auto rank = static_cast<std::uint32_t>((i + number) % ranks);
        take(meetings, rank, meetings[rank].come(), number);
      }
      for (const Meeting& meeting : meetings) EXPECT_TRUE(meeting.is_over(number));
    }
  }
}

TEST(Meeting, RefusesStepsThatCannotBeTrue) {
  Meeting meeting(Rank{1}, 4);  // its child is rank 3
  bool refused = false;
  (void)meeting.child_done(1, refused);
  EXPECT_TRUE(refused) << "a later meeting";
  EXPECT_FALSE(meeting.go_on(0)) << "this rank has not said that it is done";
  (void)meeting.child_done(0, refused);
  EXPECT_FALSE(refused);
  (void)meeting.child_done(0, refused);
  EXPECT_TRUE(refused) << "it has one child";
}

TEST(Victims, TheLastGiverIsAskedFirstThenTheHostThenTheNeighbours) {
  Victims victims(Rank{0}, 8, {Rank{1}, Rank{2}}, 7);
  victims.note(Rank{5}, 3, true);
  EXPECT_EQ(victims.next(), Rank{5});
  victims.note(Rank{5}, 0, false);
  std::vector<std::uint32_t> asked;
  while (const auto victim = victims.next()) {
    asked.push_back(victim->value);
    victims.note(*victim, 0, false);
    ASSERT_LT(asked.size(), 10u);
  }
  ASSERT_GE(asked.size(), 3u);
  EXPECT_TRUE((asked[0] == 1 && asked[1] == 2) || (asked[0] == 2 && asked[1] == 1));
  for (const std::uint32_t rank : asked) EXPECT_NE(rank, 0u);
  EXPECT_EQ(victims.neighbours(), 3u);
  EXPECT_EQ(victims.neighbour(2), Rank{4});
}

TEST(Payoff, FineTasksMakeARankPauseAndCoarseOnesEndThat) {
  Payoff payoff;
  payoff.note_steal(50'000, 1);
  EXPECT_EQ(payoff.pause_ns(), 0u) << "nothing is known yet";
  payoff.note_work(1'000);
  payoff.note_steal(50'000, 1);
  const std::uint64_t pause = payoff.pause_ns();
  EXPECT_GT(pause, 0u);
  payoff.note_steal(50'000, 1);
  EXPECT_EQ(payoff.pause_ns(), 2 * pause);
  for (int i = 0; i < 20; ++i) payoff.note_work(500'000);
  payoff.note_steal(5'000'000, 1);
  EXPECT_EQ(payoff.pause_ns(), 0u) << "a long trip harms no rank";
}

TEST(Payoff, ShortTasksThatStallAreJudgedTogether) {
  Payoff payoff;
  using Verdict = Payoff::Verdict;
  std::uint64_t now_ns = 5'000'000, fault_ns = 0;
  for (int task = 0; task < 9; ++task) {
    EXPECT_EQ(payoff.look(now_ns += 300'000, 1'000'000, fault_ns, 1), Verdict::unknown);
    fault_ns += 50'000;
    EXPECT_EQ(payoff.look(now_ns += 100'000, 1'000'000, fault_ns, 0), Verdict::unknown) << task;
    fault_ns += 1'000'000;  // of the rank's own tasks
  }
  EXPECT_EQ(payoff.rest_until_ns(), 0u);
  EXPECT_EQ(payoff.look(now_ns += 300'000, 1'000'000, fault_ns, 1), Verdict::unknown);
  EXPECT_EQ(payoff.look(now_ns += 100'000, 1'000'000, fault_ns, 0), Verdict::stalls);
  EXPECT_EQ(payoff.rest_until_ns(), now_ns + 64'000'000);
}

TEST(Payoff, RestsInProportionToTheTimeThatWasLost) {
  Payoff payoff;
  using Verdict = Payoff::Verdict;
  payoff.look(1'000'000, 1'000'000, 0, 1);
  EXPECT_EQ(payoff.look(3'000'000, 1'000'000, 600'000, 1), Verdict::pays);
  EXPECT_EQ(payoff.look(5'000'000, 1'000'000, 1'300'000, 1), Verdict::stalls);
  EXPECT_EQ(payoff.rest_until_ns(), 133'000'000u);
  EXPECT_EQ(payoff.look(6'000'000, 1'000'000, 2'000'000, 0), Verdict::stalls) << "the task goes on";
  EXPECT_EQ(payoff.rest_until_ns(), 197'000'000u);
}

}  // namespace
}  // namespace musubi::task_stealing
