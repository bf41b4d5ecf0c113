// Which ranks share a host, and which cores they have there.
#include "bootstrap/hosts.h"

#include <gtest/gtest.h>

namespace musubi::bootstrap {
namespace {

std::vector<std::uint32_t> ranks_on(const Hosts& hosts, std::uint32_t host) {
  std::vector<std::uint32_t> numbers;
  for (const Rank rank : hosts.ranks_on(HostId(host))) numbers.push_back(rank.value);
  return numbers;
}

TEST(Hosts, OneForAll) {
  const Hosts hosts = Hosts::one(3);
  EXPECT_EQ(hosts.ranks(), 3u);
  EXPECT_EQ(hosts.count(), 1u);
  EXPECT_EQ(ranks_on(hosts, 0), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_TRUE(hosts.together(Rank(0), Rank(2)));
  EXPECT_EQ(hosts.most_together(), 3u);
}

TEST(Hosts, NumberedByTheirFirstRanks) {
  const std::vector<std::string> places = {"z", "a", "z", "", "a"};
  const Hosts hosts = Hosts::by_place(places);
  EXPECT_EQ(hosts.count(), 3u);
  EXPECT_EQ(ranks_on(hosts, 0), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(ranks_on(hosts, 1), (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(ranks_on(hosts, 2), (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(hosts.of(Rank(3)), HostId(2));
  EXPECT_FALSE(hosts.together(Rank(0), Rank(1)));
  EXPECT_EQ(hosts.most_together(), 2u);
}

TEST(Hosts, CoresOfOneHostAreTheUnionOfItsRanks) {
  const std::vector<std::string> places = {"a", "b", "a", "b"};
  // Pinned apart on one host; both pinned to the same two cores on the other host.
  const std::vector<std::string> core_sets = {"11", "0011", "001", "0011"};
  EXPECT_EQ(cores_of_hosts(Hosts::by_place(places), core_sets), (std::vector<std::uint32_t>{3, 2}));
  EXPECT_EQ(cores_of_hosts(Hosts::one(4), core_sets), (std::vector<std::uint32_t>{4}));
}

}  // namespace
}  // namespace musubi::bootstrap
