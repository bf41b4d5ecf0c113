// Events of other hosts, as the launcher gets them for a trace.
#include <gtest/gtest.h>

#include "launch/hosts/wire/event_parcels.h"

namespace musubi::launch {
namespace {

constexpr std::size_t kept = 16;
constexpr std::uint64_t second = 1'000'000'000;

std::vector<trace::EventSpan> spans_of(const trace::EventLog& log, std::size_t ring) {
  std::vector<trace::EventSpan> spans;
  log.for_each(ring, [&](const trace::EventSpan& span) { spans.push_back(span); });
  return spans;
}

// A rank of another host, whose clock is `ahead_ns` ahead, with `events` events of one thread.
class EventParcels : public testing::Test {
 protected:
  void record(std::uint64_t events) {
    const trace::EventLog log = there_.logs()[1];
    trace::EventRing* const ring = log.claim(7);
    ring->role.store(trace::ThreadRole::team);
    ring->number.store(3);
    for (std::uint64_t i = 0; i < events; ++i) {
      const std::uint64_t at = begin_ns_ + static_cast<std::uint64_t>(ahead_ns_) + 10 * i;
      log.record(*ring, {trace::Event::barrier, at, at + 5, i});
    }
    trace::EventLog::give_back(*ring);
  }
  std::string parcel() const { return event_parcel(there_.logs()[1], 0); }

  EventMemory there_ = EventMemory::make(2, kept).value();
  EventCollector collector_ = EventCollector::make(2, kept).value();
  const std::uint64_t begin_ns_ = collector_.zero_ns() + second;
  std::int64_t ahead_ns_ = 1000 * static_cast<std::int64_t>(second);
};

TEST_F(EventParcels, ComeWithThreadAndMomentsOfThisHost) {
  record(5);
  ASSERT_TRUE(collector_.take(Rank{1}, parcel(), ahead_ns_));
  const trace::EventLog log = collector_.logs()[1];
  ASSERT_EQ(log.rings(), 1u);
  EXPECT_EQ(log.ring(0).role.load(), trace::ThreadRole::team);
  EXPECT_EQ(log.ring(0).number.load(), 3u);
  const auto spans = spans_of(log, 0);
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[4].begin_ns, begin_ns_ + 40);
  EXPECT_EQ(spans[4].end_ns, begin_ns_ + 45);
  EXPECT_EQ(spans[4].argument, 4u);
  EXPECT_EQ(log.lost(), 0u);
  EXPECT_EQ(collector_.logs()[0].rings(), 0u);
}

TEST_F(EventParcels, AClockBehindIsOneAheadByLessThanNothing) {
  ahead_ns_ = -static_cast<std::int64_t>(second) / 2;
  record(1);
  ASSERT_TRUE(collector_.take(Rank{1}, parcel(), ahead_ns_));
  EXPECT_EQ(spans_of(collector_.logs()[1], 0)[0].begin_ns, begin_ns_);
}

TEST_F(EventParcels, KnowHowManyWereLost) {
  record(kept + 9);
  ASSERT_TRUE(collector_.take(Rank{1}, parcel(), ahead_ns_));
  const trace::EventLog log = collector_.logs()[1];
  EXPECT_EQ(log.lost(), 9u);
  const auto spans = spans_of(log, 0);
  ASSERT_EQ(spans.size(), kept);
  EXPECT_EQ(spans.front().argument, 9u);
  EXPECT_EQ(spans.back().argument, kept + 8);
}

TEST_F(EventParcels, NothingHappensBeforeTheTraceBegins) {
  record(1);
  ASSERT_TRUE(collector_.take(Rank{1}, parcel(), ahead_ns_ + 10 * static_cast<std::int64_t>(second)));
  EXPECT_EQ(spans_of(collector_.logs()[1], 0)[0].begin_ns, collector_.zero_ns());
}

TEST_F(EventParcels, DamagedOnesAreRefused) {
  record(3);
  const std::string whole = parcel();
  EXPECT_FALSE(collector_.take(Rank{2}, whole, 0));
  EXPECT_FALSE(collector_.take(Rank{1}, whole.substr(0, whole.size() - 1), 0));
  EXPECT_FALSE(collector_.take(Rank{1}, "", 0));
  EXPECT_FALSE(collector_.take(Rank{1}, whole + std::string(sizeof(trace::EventSpan), 0), 0));
  EXPECT_TRUE(collector_.take(Rank{1}, whole, 0));
}

TEST(ClockAnswers, TheOneThatCameSoonestCounts) {
  ClockAnswers answers;
  EXPECT_EQ(answers.ahead_ns(), 0);
  answers.take(1000, 2000, 51'500);
  EXPECT_EQ(answers.ahead_ns(), 50'000);
  answers.take(3000, 3100, 53'060);
  EXPECT_EQ(answers.ahead_ns(), 50'010);
  answers.take(4000, 9000, 99'000);
  EXPECT_EQ(answers.ahead_ns(), 50'010);
  ClockAnswers behind;
  behind.take(1'000'000, 1'000'010, 5);
  EXPECT_EQ(behind.ahead_ns(), -1'000'000);
}

}  // namespace
}  // namespace musubi::launch
