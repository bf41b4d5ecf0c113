// Which jobs have one memory, and that it is shared.
#include "runtime/job/one_memory.h"

#include <gtest/gtest.h>

#include <chrono>

#include "in_process_job.h"

namespace musubi::runtime {
namespace {

using bootstrap::Bootstrap;
using bootstrap::Hosts;

const std::vector<std::string> one_host = {"a", "a", "a"}, two_hosts = {"a", "a", "b"};

struct Choice {
  bool one = false;
  std::string error;
};

// A job whose ranks are at these places, as its last rank finds it.
Choice choice(const config::Settings& settings, const std::vector<std::string>& places,
              std::string_view keeps_apart = "") {
  Choice result;
  const auto outcome = bootstrap::run_in_process(Hosts::by_place(places), [&](Bootstrap& job) {
    const SharedFromStart shared{.keeps_memories_apart = keeps_apart};
    const Result<bool> one = has_one_memory(settings, job, shared);
    if (job.self().value == job.ranks() - 1)
      result = {one.ok() && one.value(), one.ok() ? "" : one.error().message};
    (void)job.all_gather("all have chosen");
    job.finish(0);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.message;
  return result;
}

config::Settings settings_with(const std::string& coherence) {
  config::Settings settings;
  settings.coherence = coherence;
  return settings;
}

// Whether it is refused with that reason.
bool refuses(const Choice& made, const std::string& reason) {
  return made.error.find("coherence=processor is impossible: ") == 0 &&
         made.error.find(reason) != std::string::npos;
}

TEST(OneMemoryTest, RanksOfOneHostHaveOneUnlessAskedForAProtocol) {
  EXPECT_TRUE(choice(settings_with("auto"), one_host).one);
  EXPECT_TRUE(choice(settings_with("processor"), one_host).one);
  EXPECT_FALSE(choice(settings_with("protocol"), one_host).one);
}

TEST(OneMemoryTest, SeveralHostsHaveSeveralMemories) {
  EXPECT_FALSE(choice(settings_with("auto"), two_hosts).one);
  EXPECT_TRUE(refuses(choice(settings_with("processor"), two_hosts), "on several hosts"));
}

TEST(OneMemoryTest, WhatKeepsTheProgramApartIsNamed) {
  EXPECT_FALSE(choice(settings_with("auto"), one_host, "a reason").one);
  EXPECT_TRUE(refuses(choice(settings_with("processor"), one_host, "a reason"), "a reason"));
}

TEST(OneMemoryTest, SettingsOfAProtocolBringOne) {
  const auto expect_protocol = [](auto change, const std::string& name) {
    config::Settings settings = settings_with("auto");
    change(settings);
    EXPECT_FALSE(choice(settings, one_host).one) << name;
    settings.coherence = "processor";
    EXPECT_TRUE(refuses(choice(settings, one_host), name)) << name;
  };
  using Settings = config::Settings;
  expect_protocol([](Settings& settings) { settings.near_fabric = "tcp"; }, "near_fabric");
  expect_protocol([](Settings& settings) { settings.fabric_delay = std::chrono::microseconds(5); },
                  "fabric_delay");
  expect_protocol([](Settings& settings) { settings.fabric_bandwidth = 1; }, "fabric_bandwidth");
  expect_protocol([](Settings& settings) { settings.memory_max = 1 << 30; }, "memory_max");
  expect_protocol([](Settings& settings) { settings.vm_driver = "mprotect"; }, "vm_driver");
  expect_protocol([](Settings& settings) { settings.report_races = true; }, "report_races");
  expect_protocol([](Settings& settings) { settings.heap_policy = "home_based"; }, "heap_policy");
  // Also if a protocol would do the same by default.
  expect_protocol([](Settings& settings) { settings.sms_policy = "entry"; }, "sms_policy");
}

TEST(OneMemoryTest, StatisticsAreAboutAProtocolUnlessOneMemoryIsAskedFor) {
  config::Settings settings = settings_with("auto");
  settings.stats = true;
  EXPECT_FALSE(choice(settings, one_host).one);
  settings.coherence = "processor";
  EXPECT_TRUE(choice(settings, one_host).one);
}

TEST(OneMemoryTest, AllRanksOpenTheSameFile) {
  const auto outcome = bootstrap::run_in_process(Hosts::by_place(one_host), [&](Bootstrap& job) {
    const os::FileDescriptor file = open_one_memory(job, os::page_bytes()).value();
    const os::Mapping memory =
        os::Mapping::anywhere(os::page_bytes(), os::Protection::read_write, {file.number(), 0}).value();
    memory.data()[job.self().value] = std::byte{1};
    (void)job.all_gather("all have written");
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
      EXPECT_EQ(memory.data()[rank], std::byte{1}) << rank;
    }
    (void)job.all_gather("all have looked");
    job.finish(0);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.message;
}

}  // namespace
}  // namespace musubi::runtime
