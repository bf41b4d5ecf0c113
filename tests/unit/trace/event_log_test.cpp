// The rings in which threads record events: which events are kept and which are lost, and the view of a
// reader after a process was killed.
#include "trace/event_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace musubi::trace {
namespace {

// Memory that a child shares with its parent.
class Memory {
 public:
  explicit Memory(std::size_t events_per_thread)
      : bytes_(EventLog::bytes(events_per_thread)),
        data_(static_cast<std::byte*>(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        log(data_, events_per_thread) {}
  ~Memory() { ::munmap(data_, bytes_); }
  Memory(const Memory&) = delete;

 private:
  std::size_t bytes_;
  std::byte* data_;

 public:
  const EventLog log;
};

std::vector<EventSpan> spans_of(const EventLog& log, std::size_t ring) {
  std::vector<EventSpan> spans;
  log.for_each(ring, [&](const EventSpan& span) { spans.push_back(span); });
  return spans;
}

EventSpan numbered(std::uint64_t number) {
  return {Event::barrier, number, 2 * number, 3 * number};
}

TEST(EventLog, SizeTellsHowManyEventsThereAre) {
  for (const std::size_t events : {16u, 17u, 65536u})
    EXPECT_EQ(EventLog::events_in(EventLog::bytes(events)), events);
  EXPECT_EQ(EventLog::events_in(0), 0u);
  EXPECT_EQ(EventLog::bytes(17) % 4096, 0u);
}

TEST(EventLog, TheNewestEventsAreKeptAndTheOthersCounted) {
  const Memory memory(16);
  EventRing& ring = *memory.log.claim(1);
  for (std::uint64_t i = 0; i < 16; ++i) memory.log.record(ring, numbered(i));
  EXPECT_EQ(memory.log.lost(), 0u);
  for (std::uint64_t i = 16; i < 40; ++i) memory.log.record(ring, numbered(i));
  EXPECT_EQ(memory.log.lost(), 24u);
  const std::vector<EventSpan> spans = spans_of(memory.log, 0);
  ASSERT_EQ(spans.size(), 16u);
  for (std::uint64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(spans[i].begin_ns, 24 + i);
    EXPECT_EQ(spans[i].end_ns, 2 * (24 + i));
    EXPECT_EQ(spans[i].argument, 3 * (24 + i));
    EXPECT_EQ(spans[i].event, Event::barrier);
  }
}

TEST(EventLog, EachThreadHasARingAndAnEndedOnesIsUsedAgain) {
  const Memory memory(16);
  EXPECT_EQ(memory.log.rings(), 0u);
  EventRing* const first = memory.log.claim(1);
  EventRing* const second = memory.log.claim(2);
  ASSERT_NE(first, second);
  memory.log.record(*first, numbered(7));
  memory.log.record(*second, numbered(8));
  EventLog::give_back(*first);
  EXPECT_EQ(memory.log.claim(3), first);
  EXPECT_EQ(memory.log.rings(), 2u);
  EXPECT_EQ(spans_of(memory.log, 0).at(0).begin_ns, 7u);
  EXPECT_EQ(spans_of(memory.log, 1).at(0).begin_ns, 8u);
}

TEST(EventLog, AThreadTooManyHasNoRing) {
  const Memory memory(16);
  for (std::size_t i = 0; i < EventLog::threads_max; ++i) ASSERT_NE(memory.log.claim(1), nullptr);
  EXPECT_EQ(memory.log.claim(1), nullptr);
  memory.log.lose();
  EXPECT_EQ(memory.log.lost(), 1u);
}

TEST(EventLog, ARecordThatIsNotCompleteIsLeftOut) {
  const Memory memory(16);
  EventRing& ring = *memory.log.claim(1);
  memory.log.record(ring, numbered(1));
  ring.recorded.fetch_add(1);  // as if a thread was killed at this moment
  memory.log.record(ring, numbered(2));
  EXPECT_EQ(spans_of(memory.log, 0).size(), 2u);
}

TEST(EventLog, AKilledProcessLeavesItsEvents) {
  const Memory memory(16);
  const pid_t child = ::fork();
  if (child == 0) {
    memory.log.record(*memory.log.claim(::gettid()), numbered(5));
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(memory.log.rings(), 1u);
  ASSERT_EQ(spans_of(memory.log, 0).size(), 1u);
  EXPECT_EQ(spans_of(memory.log, 0)[0].argument, 15u);
}

// A handler has no argument.
const EventLog* log_of_handler = nullptr;
EventRing* ring_of_handler = nullptr;
std::uint64_t handled = 0;

void record_in_handler(int) {
  log_of_handler->record(*ring_of_handler, numbered(1'000'000'000 + ++handled));
}

TEST(EventLog, AHandlerBetweenMixesNoRecords) {
  constexpr std::uint64_t least = 300;
  const Memory memory(1 << 16);
  log_of_handler = &memory.log;
  ring_of_handler = memory.log.claim(1);
  struct sigaction action {
  }, before{};
  action.sa_handler = record_in_handler;
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{{0, 50}, {0, 50}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  std::uint64_t recorded = 0;
  while (const_cast<volatile std::uint64_t&>(handled) < least)
    memory.log.record(*ring_of_handler, numbered(++recorded));
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(ring_of_handler->recorded.load(), recorded + handled);
  for (const EventSpan& span : spans_of(memory.log, 0)) {
    ASSERT_EQ(span.end_ns, 2 * span.begin_ns);
    ASSERT_EQ(span.argument, 3 * span.begin_ns);
  }
}

}  // namespace
}  // namespace musubi::trace
