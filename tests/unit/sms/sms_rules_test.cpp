// Rules of sms.h that need no job: which host name is this host, which elements are values.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>

#include "sms/host_list.h"
#include "sms/shared_memory.h"

namespace musubi::sms {
namespace {

TEST(HostList, ThisHostGoesByItsNameWithAndWithoutDomain) {
  EXPECT_TRUE(is_this_host("localhost", "alpha"));
  EXPECT_TRUE(is_this_host("127.0.0.1", "alpha"));
  EXPECT_TRUE(is_this_host("::1", "alpha"));
  EXPECT_TRUE(is_this_host("alpha", "alpha"));
  EXPECT_TRUE(is_this_host("alpha.example", "alpha"));
  EXPECT_TRUE(is_this_host("alpha", "alpha.example"));
  EXPECT_TRUE(is_this_host("alpha.example", "alpha.example"));
  EXPECT_FALSE(is_this_host("alpha.elsewhere", "alpha.example"));
  EXPECT_FALSE(is_this_host("beta", "alpha"));
  EXPECT_FALSE(is_this_host("beta", "alpha.example"));
  EXPECT_FALSE(is_this_host("alphabet", "alpha"));
  EXPECT_FALSE(is_this_host("alph", "alpha"));
}

TEST(HostList, EachLineIsAProcess) {
  const std::string path = ::testing::TempDir() + "sms_host_list";
  std::ofstream(path) << "# hosts\n\nlocalhost\n\tlocalhost  # once more\r\nlocalhost 4 processors";
  auto hosts = read_host_list(path);
  ASSERT_TRUE(hosts.ok());
  EXPECT_EQ(hosts.value().lines, 3u);
  EXPECT_FALSE(hosts.value().has_others);
  std::ofstream(path) << "localhost\nfar.away.example # another one\n";
  hosts = read_host_list(path);
  ASSERT_TRUE(hosts.ok());
  EXPECT_EQ(hosts.value().lines, 2u);
  EXPECT_TRUE(hosts.value().has_others);
}

TEST(MergeUnit, ItIsTheLargestWordThatDividesTheElement) {
  const std::pair<std::size_t, int> units[] = {{1, 1},  {2, 2},  {3, 1},  {4, 4},   {6, 2},
                                               {8, 8},  {12, 4}, {16, 8}, {24, 8},  {100, 4},
                                               {28, 4}, {7, 1},  {80, 8}, {4096, 8}};
  for (const auto& [bytes, unit] : units) EXPECT_EQ(merge_unit_of(bytes), unit) << bytes;
}

}  // namespace
}  // namespace musubi::sms
