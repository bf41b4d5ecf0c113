// The race between a peer's addresses, in the test's own time; and the choice of addresses that take part.
#include "fabric/tcp/connect_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fabric/tcp/connections.h"

namespace musubi::fabric::tcp {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr ConnectRace::Patience patience{2000 * ms, 10'000 * ms, 20'000 * ms};

// Addresses that do not answer, except those that the test names.
class Racing {
 public:
  Racing(std::size_t addresses, bool leads) : race(addresses), leads_(leads) {
    race.begin(now_ms * ms, patience);
  }

  // Advances until `time`, and calls the handlers of starts, stops and timeouts.
  void run_to(std::uint64_t end_ms) {
    for (; now_ms <= end_ms && !is_given_up; now_ms += 10) {
      ConnectRace::Action action;
      while ((action = race.next(now_ms * ms, leads_)).kind != ConnectRace::Action::Kind::none) note(action);
    }
  }

  ConnectRace race;
  std::uint64_t now_ms = 1000;
  std::vector<std::size_t> started;
  std::vector<std::uint64_t> starts_ms;
  unsigned open = 0, most_open = 0;
  bool is_given_up = false;

 private:
  void note(const ConnectRace::Action& action) {
    if (action.kind == ConnectRace::Action::Kind::start) {
      started.push_back(action.address);
      starts_ms.push_back(now_ms - 1000);
      most_open = std::max(most_open, ++open);
    } else if (action.kind == ConnectRace::Action::Kind::stop) {
      --open;
    } else {
      is_given_up = true;
    }
  }
  const bool leads_;
};

os::SocketAddress address(const char* text) {
  return os::addresses_of_network(text).value()[0];
}

std::vector<std::string> texts(const Addresses& all) {
  std::vector<std::string> texts;
  for (const os::SocketAddress& each : all) {
    char text[os::SocketAddress::text_bytes_max];
    texts.emplace_back(text, each.write(text));
  }
  return texts;
}

TEST(TcpRace, TheTwelfthAddressStartsBeforeThreeSeconds) {
  Racing racing(12, true);
  racing.run_to(4000);
  ASSERT_GE(racing.started.size(), 12u);
  EXPECT_EQ(racing.started[11], 11u);
  EXPECT_LT(racing.starts_ms[11], 3000u);
  EXPECT_LE(racing.most_open, ConnectRace::lanes);
}

TEST(TcpRace, OneThatFailsMakesRoomAtOnce) {
  Racing racing(3, true);
  racing.run_to(1000);
  racing.race.failed(0, "refused", racing.now_ms * ms);
  racing.run_to(1020);
  EXPECT_EQ(racing.started, (std::vector<std::size_t>{0, 1}));
}

TEST(TcpRace, ACallThatDoesNotLeadHasOneConnection) {
  Racing racing(12, false);
  racing.run_to(8000);
  EXPECT_EQ(racing.most_open, 1u);
  EXPECT_EQ(racing.started, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(TcpRace, WhatAnotherCallHasFoundStartsAtOnce) {
  for (const bool leads : {false, true}) {
    Racing racing(12, leads);
    racing.run_to(1100);
    racing.race.prefer(9);
    racing.run_to(1130);
    EXPECT_EQ(racing.started.back(), 9u);
    EXPECT_EQ(racing.most_open, leads ? 2u : 1u);
  }
}

TEST(TcpRace, EachAddressIsTriedTwiceBeforeTheEnd) {
  Racing racing(60, true);
  racing.run_to(100'000);
  EXPECT_TRUE(racing.is_given_up);
  EXPECT_EQ(racing.open, 0u);
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_GE(std::ranges::count(racing.started, i), 2) << i;
    EXPECT_STREQ(racing.race.reason(i), no_answer);
  }
}

TEST(TcpRace, TheFirstProofWinsAndItsEndIsNoEndOfTheCall) {
  Racing racing(3, true);
  racing.run_to(1600);
  ASSERT_EQ(racing.open, 3u);
  for (unsigned lane = 0; lane < 3; ++lane) racing.race.connected(lane, racing.now_ms * ms);
  EXPECT_TRUE(racing.race.answered(1, racing.now_ms * ms));
  EXPECT_FALSE(racing.race.answered(2, racing.now_ms * ms));
  racing.run_to(1650);
  EXPECT_EQ(racing.open, 1u);
  EXPECT_EQ(racing.race.stage(1), ConnectRace::Stage::proved);
  racing.race.failed(1, "reset", racing.now_ms * ms);
  --racing.open;
  racing.run_to(2500);
  EXPECT_GE(racing.open, 2u);
  EXPECT_TRUE(racing.race.is_on());
}

TEST(TcpAddresses, ThoseOfThisHostLeadToNoOtherAndTheNearestIsFirst) {
  const Addresses own{address("172.17.0.1"), address("10.1.0.1"), address("fd00::1")};
  const Addresses peer{address("172.17.0.1"), address("192.168.4.2"), address("10.1.0.2"),
                       address("10.2.0.2")};
  EXPECT_EQ(texts(likely_addresses(peer, own)),
            (std::vector<std::string>{"10.1.0.2", "10.2.0.2", "192.168.4.2"}));
  EXPECT_EQ(texts(likely_addresses(own, own)).size(), own.size()) << "a peer of this host";
}

}  // namespace
}  // namespace musubi::fabric::tcp
