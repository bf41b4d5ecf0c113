// Events of the calling thread: nothing without a log, one for each span with one.
#include "runtime/threads/tracing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace musubi::runtime {
namespace {

constexpr std::size_t events = 16;

std::vector<trace::EventSpan> spans_of(const trace::EventLog& log, std::size_t ring) {
  std::vector<trace::EventSpan> spans;
  log.for_each(ring, [&](const trace::EventSpan& span) { spans.push_back(span); });
  return spans;
}

class Tracing : public testing::Test {
 protected:
  Tracing() { std::memset(memory_, 0, trace::EventLog::bytes(events)); }
  ~Tracing() override {
    close_event_ring();
    stop_tracing();
    std::free(memory_);
  }
  trace::EventLog log() const { return {memory_, events}; }

 private:
  std::byte* memory_ = static_cast<std::byte*>(std::aligned_alloc(4096, trace::EventLog::bytes(events)));
};

TEST_F(Tracing, WithoutALogNothingIsRecorded) {
  start_tracing({});
  EXPECT_FALSE(is_tracing());
  name_thread(ThreadRole::main, 0);
  const Traced traced(Event::flush);
  EXPECT_EQ(traced.begin_ns(), 0u);
}

TEST_F(Tracing, SpansEndFromTheInnermostOn) {
  start_tracing(log());
  {
    Traced outer(Event::barrier, 1);
    const Traced inner(Event::flush, 2);
    outer.set_argument(3);
  }
  const std::vector<trace::EventSpan> spans = spans_of(log(), 0);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].event, Event::flush);
  EXPECT_EQ(spans[0].argument, 2u);
  EXPECT_EQ(spans[1].event, Event::barrier);
  EXPECT_EQ(spans[1].argument, 3u);
  EXPECT_LE(spans[1].begin_ns, spans[0].begin_ns);
  EXPECT_LE(spans[0].end_ns, spans[1].end_ns);
}

TEST_F(Tracing, AThreadTakesItsRingWithItsFirstEventAndGivesItBack) {
  start_tracing(log());
  EXPECT_EQ(log().rings(), 0u);
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      name_thread(ThreadRole::team, 1);
      { const Traced traced(Event::atomic); }
      close_event_ring();
    }).join();
  }
  EXPECT_EQ(log().rings(), 1u);
  EXPECT_EQ(spans_of(log(), 0).size(), 3u);
  EXPECT_EQ(log().ring(0).role.load(), ThreadRole::team);
}

TEST_F(Tracing, AStoppedTraceTakesNothing) {
  start_tracing(log());
  {
    const Traced traced(Event::flush);
    stop_tracing();
  }
  EXPECT_EQ(log().rings(), 0u);
}

}  // namespace
}  // namespace musubi::runtime
