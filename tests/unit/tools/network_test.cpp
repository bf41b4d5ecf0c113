// The hosts that `musubi doctor` lets measure at once, and its output of the result.
#include <gtest/gtest.h>

#include <set>

#include "network/measured.h"
#include "network/rounds.h"

namespace musubi::tools::network {
namespace {

TEST(Rounds, NoHostIsInTwoPairsOfARoundAndNoPairComesTwice) {
  for (std::uint32_t hosts = 2; hosts <= 40; ++hosts) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const Round& round : rounds_of(hosts)) {
      std::set<std::uint32_t> busy;
      EXPECT_FALSE(round.empty()) << hosts;
      for (const Pair& pair : round) {
        EXPECT_LT(std::max(pair.by, pair.from), hosts);
        EXPECT_TRUE(busy.insert(pair.by).second && busy.insert(pair.from).second) << hosts;
        EXPECT_TRUE(seen.emplace(pair.by, pair.from).second) << hosts << ": " << pair.by << " " << pair.from;
      }
    }
    for (const auto& [by, from] : seen) EXPECT_TRUE(seen.contains({from, by}));
    if (hosts <= all_pairs_max) {
      EXPECT_EQ(seen.size(), hosts * (hosts - 1)) << hosts;
    }
    for (std::uint32_t i = 1; i < hosts; ++i) {
      EXPECT_TRUE(seen.contains({i, (i + 1) % hosts})) << hosts << ": " << i;
      EXPECT_TRUE(seen.contains({0, i})) << hosts << ": " << i;
    }
  }
}

TEST(Rounds, FewHostsNeedFewRounds) {
  EXPECT_TRUE(rounds_of(0).empty());
  EXPECT_TRUE(rounds_of(1).empty());
  EXPECT_EQ(rounds_of(2).size(), 2u);
  EXPECT_EQ(rounds_of(4).size(), 6u);
  EXPECT_EQ(rounds_of(8).size(), 14u);
}

Measured three_hosts() {
  return {"tcp",
          {{"a", "b", 10'000, 9'000, 10'000'000'000},
           {"b", "a", 12'000, 9'000, 11'000'000'000},
           {"a", "c", 90'000, 80'000, 1'000'000'000}}};
}

TEST(MeasuredNetwork, ComesBackFromJson) {
  auto back = parse(as_json(three_hosts()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back.value().fabric, "tcp");
  ASSERT_EQ(back.value().pairs.size(), 3u);
  EXPECT_EQ(back.value().pairs[2].from, "c");
  EXPECT_EQ(back.value().pairs[2].asleep_ns, 90'000u);
  EXPECT_EQ(back.value().pairs[2].awake_ns, 80'000u);
  EXPECT_EQ(back.value().pairs[2].bits_per_second, 1'000'000'000u);
  auto inside = parse("{\"can_run\": true, \"network\": " + as_json(three_hosts()) + "}");
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(inside.value().pairs.size(), 3u);
}

TEST(MeasuredNetwork, WhatIsNoneIsRefused) {
  const std::string pair = R"({"by":"a","from":"b","asleep_ns":1,"awake_ns":1,"bits_per_second":)";
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[]"), std::string("3"),
        std::string("{\"fabric\": 3}"), std::string(R"({"fabric":"tcp"})"),
        std::string(R"({"fabric":"tcp","pairs":[3]})"), R"({"fabric":"tcp","pairs":[)" + pair + "0}]}",
        R"({"fabric":"tcp","pairs":[)" + pair + "-1}]}", R"({"fabric":"tcp","pairs":[)" + pair + "1e30}]}",
        R"({"fabric":"tcp","pairs":[)" + pair + "\"1\"}]}"}) {
    auto parsed = parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message, "") << text;
  }
  EXPECT_TRUE(parse(R"({"fabric":"tcp","pairs":[)" + pair + "1}]}"));
}

TEST(MeasuredNetwork, TheMedianOfTheHostsOfTheJobCounts) {
  const Measured measured = three_hosts();
  const std::vector<std::string> two = {"a", "b"}, other = {"b", "c"};
  EXPECT_EQ(distance_among(measured, two).value().round_trip_ns, 12'000u);
  EXPECT_EQ(distance_among(measured, two).value().bits_per_second, 11'000'000'000u);
  EXPECT_EQ(distance_among(measured, {}).value().bits_per_second, 10'000'000'000u);
  EXPECT_FALSE(distance_among(measured, other));
}

}  // namespace
}  // namespace musubi::tools::network
