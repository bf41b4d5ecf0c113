// Whether ranks agree on one memory, and that it is one.
#include "runtime/one_memory.h"

#include <gtest/gtest.h>

#include <mutex>

#include "in_process_job.h"

namespace musubi::runtime {
namespace {

using bootstrap::Bootstrap;
using bootstrap::Hosts;

const std::vector<std::string> one_host = {"a", "a", "a"}, two_hosts = {"a", "a", "b"};

struct Agreement {
  std::vector<bool> one;  // by rank
  std::string error;      // of the last rank with one
};

// `bytes`, by rank: what each process keeps in shared pages.
Agreement agreement(const config::Settings& settings, const std::vector<std::string>& places,
                    const std::vector<std::string>& bytes, std::string_view keeps_apart = "") {
  std::mutex mutex;
  Agreement result{std::vector<bool>(places.size()), {}};
  const auto outcome = bootstrap::run_in_process(Hosts::by_place(places), [&](Bootstrap& job) {
    const std::string& own = bytes[job.self().value];
    const PrivateBytes part{reinterpret_cast<std::uintptr_t>(own.data()), own.size()};
    const SharedFromStart shared{.private_bytes = {&part, 1}, .keeps_memories_apart = keeps_apart};
    const Result<bool> agreed = agree_on_one_memory(settings, job, shared);
    {
      const std::lock_guard lock(mutex);
      result.one[job.self().value] = agreed.ok() && agreed.value();
      if (!agreed.ok()) result.error = agreed.error().message;
    }
    (void)job.all_gather("all have agreed");
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

const std::vector<std::string> equal = {"slots", "slots", "slots"}, unequal = {"slots", "slots", "slotz"};
const std::vector<bool> all = {true, true, true}, none = {false, false, false};

TEST(OneMemoryTest, RanksOfOneHostWithEqualBytesHaveOne) {
  EXPECT_EQ(agreement(settings_with("auto"), one_host, equal).one, all);
  EXPECT_EQ(agreement(settings_with("processor"), one_host, equal).one, all);
  EXPECT_EQ(agreement(settings_with("protocol"), one_host, equal).one, none);
}

TEST(OneMemoryTest, OneRankWithOtherBytesLeavesAllWithTheirOwn) {
  const Agreement agreed = agreement(settings_with("auto"), one_host, unequal);
  EXPECT_EQ(agreed.one, none);
  EXPECT_EQ(agreed.error, "");
  EXPECT_NE(
      agreement(settings_with("processor"), one_host, unequal).error.find("differ between the processes"),
      std::string::npos);
}

TEST(OneMemoryTest, SeveralHostsHaveSeveralMemories) {
  EXPECT_EQ(agreement(settings_with("auto"), two_hosts, equal).one, none);
  EXPECT_NE(agreement(settings_with("processor"), two_hosts, equal).error.find("on several hosts"),
            std::string::npos);
}

TEST(OneMemoryTest, WhatTheProgramKeepsIsNamed) {
  EXPECT_EQ(agreement(settings_with("auto"), one_host, equal, "a reason").one, none);
  EXPECT_NE(agreement(settings_with("processor"), one_host, equal, "a reason").error.find("a reason"),
            std::string::npos);
}

TEST(OneMemoryTest, StatisticsAreAboutAProtocolUnlessOneMemoryIsAskedFor) {
  config::Settings settings = settings_with("auto");
  settings.stats = true;
  EXPECT_EQ(agreement(settings, one_host, equal).one, none);
  settings.coherence = "processor";
  EXPECT_EQ(agreement(settings, one_host, equal).one, all);
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
