// The output for event logs: valid JSON, with known names, ranks as processes and one zero.
#include "trace/chrome_trace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "parsed_trace.h"

namespace musubi::trace {
namespace {

using test::ParsedTrace;

constexpr std::size_t events = 16;

struct Memory {
  std::byte* const data = static_cast<std::byte*>(std::aligned_alloc(4096, EventLog::bytes(events)));
  Memory() { std::memset(data, 0, EventLog::bytes(events)); }
  Memory(const Memory&) = delete;
  ~Memory() { std::free(data); }
  EventLog log() const { return {data, events}; }
};

std::string written(std::span<const EventLog> logs, std::uint64_t zero_ns) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const file = ::open_memstream(&text, &bytes);
  write_chrome_trace(file, logs, zero_ns);
  std::fclose(file);
  std::string result(text, bytes);
  std::free(text);
  return result;
}

TEST(ChromeTrace, EventsOfAllRanksCountFromOneZero) {
  const Memory first, second;
  const EventLog logs[] = {first.log(), second.log()};
  EventRing& main = *logs[0].claim(1);
  main.role.store(ThreadRole::main);
  logs[0].record(main, {Event::read_fault, 2'000'500, 2'001'750, 0x7f0012345678});
  EventRing& other = *logs[1].claim(1);
  other.role.store(ThreadRole::team);
  other.number.store(3);
  logs[1].record(other, {Event::barrier, 3'000'000, 3'000'000, 0});
  const ParsedTrace trace = test::parse_trace(written(logs, 1'000'000));
  ASSERT_TRUE(trace.valid);
  EXPECT_EQ(trace.processes, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  EXPECT_EQ(trace.threads.at({0, 0}), "main");
  EXPECT_EQ(trace.threads.at({1, 0}), "OpenMP thread 3");
  ASSERT_EQ(trace.spans.at({0, 0}).size(), 1u);
  const test::ParsedSpan& fault = trace.spans.at({0, 0})[0];
  EXPECT_EQ(fault.name, "read_fault");
  EXPECT_EQ(fault.begin_ns, 1'000'500);
  EXPECT_EQ(fault.end_ns, 1'001'750);
  EXPECT_EQ(fault.argument, 0x7f0012345678u);
  EXPECT_EQ(trace.spans.at({1, 0})[0].begin_ns, 2'000'000);
}

TEST(ChromeTrace, EveryEventHasItsName) {
  const Memory memory;
  const EventLog logs[] = {memory.log()};
  EventRing& ring = *logs[0].claim(1);
  for (std::size_t i = 0; i < event_kinds; ++i) logs[0].record(ring, {static_cast<Event>(i), i, i + 1, i});
  const ParsedTrace trace = test::parse_trace(written(logs, 0));
  ASSERT_TRUE(trace.valid);
  EXPECT_TRUE(test::unknown_names(trace).empty());
  ASSERT_EQ(trace.spans.at({0, 0}).size(), event_kinds);
  for (std::size_t i = 0; i < event_kinds; ++i)
    EXPECT_EQ(trace.spans.at({0, 0})[i].name, event_texts[i].name);
}

TEST(ChromeTrace, NothingAtAllIsValid) {
  const Memory memory;
  const EventLog logs[] = {memory.log()};
  EXPECT_TRUE(test::parse_trace(written(logs, 0)).valid);
  EXPECT_TRUE(test::parse_trace(written({}, 0)).valid);
}

TEST(ChromeTrace, LostEventsAreTold) {
  const Memory memory;
  const EventLog logs[] = {memory.log()};
  EventRing& ring = *logs[0].claim(1);
  for (std::uint64_t i = 0; i < events; ++i) logs[0].record(ring, {Event::flush, i, i, 0});
  EXPECT_EQ(written(logs, 0).find("lost"), std::string::npos);
  for (std::uint64_t i = 0; i < 5; ++i) logs[0].record(ring, {Event::flush, i, i, 0});
  EXPECT_NE(written(logs, 0).find("5 older events lost"), std::string::npos);
}

TEST(ParsedTrace, SpansThatCrossAreSeen) {
  ParsedTrace trace;
  auto& spans = trace.spans[{0, 0}];
  spans = {{"barrier", 0, 10, 0}, {"flush", 0, 5, 0}, {"flush", 5, 10, 0}, {"flush", 10, 12, 0}};
  EXPECT_EQ(test::overlaps(trace), 0u);
  spans.push_back({"atomic", 11, 13, 0});
  EXPECT_EQ(test::overlaps(trace), 1u);
}

}  // namespace
}  // namespace musubi::trace
