// Decisions that a rank makes by its host, in jobs on several hosts.
#include "runtime/start/host_share.h"

#include <gtest/gtest.h>

#include <mutex>

#include "in_process_job.h"
#include "os/memory.h"
#include "runtime/start/choose_vm.h"
#include "runtime/start/memory_watch.h"

namespace musubi::runtime {
namespace {

using bootstrap::Bootstrap;
using bootstrap::Hosts;

// By rank. Each may run on the cores that `core_sets` name.
std::vector<HostShare> shares_on(const std::vector<std::string>& places,
                                 const std::vector<std::string>& core_sets) {
  std::mutex mutex;
  std::vector<HostShare> shares(places.size());
  const auto outcome = bootstrap::run_in_process(Hosts::by_place(places), [&](Bootstrap& job) {
    const HostShare share = find_host_share(job, core_sets[job.self().value]).value();
    {
      const std::lock_guard lock(mutex);
      shares[job.self().value] = share;
    }
    (void)job.all_gather("all have theirs");
    job.finish(0);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.message;
  return shares;
}

const std::vector<std::string> two_hosts = {"a", "a", "b", "b"};
const std::vector<std::string> one_host = {"a", "a", "a", "a"};
const std::vector<std::string> four_cores_each(4, "1111");

TEST(HostShareTest, RanksAndCoresAreThoseOfTheOwnHost) {
  for (const HostShare& share : shares_on(two_hosts, four_cores_each)) {
    EXPECT_EQ(share.ranks, 2u);
    EXPECT_EQ(share.cores, 4u);
  }
  for (const HostShare& share : shares_on(one_host, four_cores_each)) {
    EXPECT_EQ(share.ranks, 4u);
    EXPECT_EQ(share.cores, 4u);
  }
}

TEST(HostShareTest, HostsMayDiffer) {
  const auto shares = shares_on({"a", "b", "b", "b"}, {"11111111", "1", "01", "01"});
  EXPECT_EQ(shares[0].ranks, 1u);
  EXPECT_EQ(shares[0].cores, 8u);
  for (const std::size_t rank : {1u, 2u, 3u}) {
    EXPECT_EQ(shares[rank].ranks, 3u);
    EXPECT_EQ(shares[rank].cores, 2u);
  }
}

TEST(HostShareTest, ThreadsSpinWhereTheirHostHasACoreForEach) {
  const config::Settings settings;
  for (const HostShare& share : shares_on(two_hosts, four_cores_each)) {
    EXPECT_GT(waiting_policy_on(share, settings, 2).spin_checks, 0u);
    EXPECT_EQ(waiting_policy_on(share, settings, 3).spin_checks, 0u);
  }
  for (const HostShare& share : shares_on(one_host, four_cores_each)) {
    EXPECT_EQ(waiting_policy_on(share, settings, 2).spin_checks, 0u);
  }
}

TEST(HostShareTest, SettingsHaveTheLastWord) {
  config::Settings settings;
  settings.spin_checks = 7;
  settings.yields = 9;
  const auto policy = waiting_policy_on(HostShare{2, 1}, settings, 4);
  EXPECT_EQ(policy.spin_checks, 7u);
  EXPECT_EQ(policy.yields, 9u);
}

TEST(HostShareTest, UserfaultfdGainsWhereThreadsOfARankRunAtOnce) {
  EXPECT_TRUE(gains_by_uffd(4, 2, shares_on(two_hosts, four_cores_each)[0]));
  EXPECT_FALSE(gains_by_uffd(4, 2, shares_on(one_host, four_cores_each)[0]));
  EXPECT_TRUE(gains_by_uffd(2, 2, HostShare{1, 2})) << "alone on its host, but not in the job";
}

// The memory that faults may open until a rank checks its machine again.
std::uint64_t opened_until_look(const HostShare& share) {
  constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
  MemoryWatch watch({-1, -1, -1}, std::nullopt, share.ranks, [] { return 1088 * MiB; });
  EXPECT_EQ(watch.shortage(), "");
  std::uint64_t opened = 0;
  while (watch.opening(MiB) == MemoryWatch::Verdict::go_on) opened += MiB;
  return opened / MiB;
}

TEST(HostShareTest, MemoryOfAHostIsSharedByItsOwnRanks) {
  const std::uint64_t on_two = opened_until_look(shares_on(two_hosts, four_cores_each)[3]);
  const std::uint64_t on_one = opened_until_look(shares_on(one_host, four_cores_each)[3]);
  EXPECT_NEAR(static_cast<double>(on_two), 2.0 * static_cast<double>(on_one), 2.0);
}

}  // namespace
}  // namespace musubi::runtime
