// Which peers a listening rank admits: strangers cost a line, and nothing else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "fabric/handshake/handshake.h"
#include "os/clock.h"
#include "service_threads.h"
#include "tcp_door.h"

namespace musubi::fabric::conformance {

using handshake::Side;
using namespace std::chrono_literals;

TEST_F(TcpDoor, ConnectsWhenItIsFirstUsedAndNoMore) {
  EXPECT_EQ(ranks_[0].transport->connections(), 0u);
  EXPECT_TRUE(ask(0));
  EXPECT_EQ(ranks_[0].transport->connections(), 1u);
  EXPECT_EQ(ranks_[1].transport->connections(), 1u);
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(0));
  EXPECT_EQ(ranks_[0].transport->connections(), 2u);
  EXPECT_EQ(ranks_[1].transport->connections(), 2u);
  EXPECT_TRUE(lines_.all().empty());
}

TEST_F(TcpDoor, BothSidesMayBeginAtOnce) {
  for (int round = 0; round < 20; ++round) {
    open(2, tcp_options_of_tests());
    std::thread other([this] { EXPECT_TRUE(ask(1)); });
    EXPECT_TRUE(ask(0));
    other.join();
    EXPECT_EQ(ranks_[0].transport->connections(), 2u);
  }
  EXPECT_TRUE(lines_.all().empty());
}

TEST_F(TcpDoor, RefusesAWrongSecret) {
  const std::array<std::byte, 32> wrong{std::byte{9}};
  Caller caller(Rank{1}, 2, "test", wrong);
  const os::FileDescriptor socket = knock();
  ASSERT_TRUE(shake_hands(socket, caller));
  EXPECT_FALSE(
      caller.handshake.is_proof(caller.answer.proof, Side::answers, caller.hello, caller.answer.nonce));
  EXPECT_TRUE(is_shown_out(socket));
  EXPECT_TRUE(heard("it does not know the job's secret"));
  EXPECT_TRUE(ask(0) && ask(1));
}

TEST_F(TcpDoor, RefusesTheProofOfAnotherConnection) {
  Caller first(Rank{1}, 2, "test", secret_of_tests);
  const os::FileDescriptor one = knock();
  ASSERT_TRUE(say(one, &first.hello, sizeof first.hello));
  ASSERT_TRUE(hear(one, &first.answer, sizeof first.answer));
  const handshake::Proof proof = first.handshake.prove(Side::asks, first.hello, first.answer.nonce);
  const os::FileDescriptor two = knock();
  handshake::Answer answer;
  ASSERT_TRUE(say(two, &first.hello, sizeof first.hello));
  ASSERT_TRUE(hear(two, &answer, sizeof answer));
  EXPECT_NE(answer.nonce, first.answer.nonce);
  ASSERT_TRUE(say(two, &proof, sizeof proof));
  EXPECT_TRUE(is_shown_out(two));
  // Nor is the rank's own proof accepted.
  ASSERT_TRUE(say(one, &first.answer.proof, sizeof proof));
  EXPECT_TRUE(is_shown_out(one));
  EXPECT_TRUE(ask(0) && ask(1));
}

TEST_F(TcpDoor, RefusesOtherVersionsJobsAndRanks) {
  struct Case {
    const char* build;
    std::uint32_t version, ranks, from, to;
  };
  const Case cases[] = {
      {"other", handshake::protocol_version, 2, 1, 0}, {"test", handshake::protocol_version + 1, 2, 1, 0},
      {"test", handshake::protocol_version, 3, 1, 0},  {"test", handshake::protocol_version, 2, 1, 1},
      {"test", handshake::protocol_version, 2, 0, 0},  {"test", handshake::protocol_version, 2, 2, 0}};
  for (const Case& each : cases) {
    Caller caller(Rank{1}, 2, each.build, secret_of_tests);
    caller.hello.version = each.version;
    caller.hello.ranks = each.ranks;
    caller.hello.from = each.from;
    caller.hello.to = each.to;
    const os::FileDescriptor socket = knock();
    EXPECT_FALSE(shake_hands(socket, caller)) << each.build << each.version << each.from << each.to;
  }
  EXPECT_TRUE(heard("it is of another version or build of Musubi"));
  EXPECT_TRUE(ask(0) && ask(1));
}

TEST_F(TcpDoor, SendsGarbageAwayAndSilenceInTime) {
  TcpOptions options = tcp_options_of_tests();
  options.handshake_max = 300ms;
  open(2, options);
  const os::FileDescriptor silent = knock(), half = knock(), garbage = knock(), gone = knock();
  const std::string text = "GET / HTTP/1.1\r\nHost: here\r\n\r\n" + std::string(100, 'x');
  ASSERT_TRUE(say(garbage, text.data(), text.size()));
  EXPECT_TRUE(is_shown_out(garbage));
  const Caller caller(Rank{1}, 2, "test", secret_of_tests);
  ASSERT_TRUE(say(half, &caller.hello, sizeof caller.hello / 2));
  EXPECT_TRUE(is_shown_out(half));
  EXPECT_TRUE(is_shown_out(silent));
  EXPECT_TRUE(heard("refused a connection from 127.0.0.1:"));
  EXPECT_TRUE(ask(0) && ask(1));
}

// More strangers than there are places, all at once and one after the other: the ranks connect all the same,
// few lines are printed, no descriptor stays open.
TEST_F(TcpDoor, StandsTenThousandStrangers) {
  const std::size_t files_before = open_files();
  std::vector<os::FileDescriptor> waiting;
  for (int i = 0; i < 200; ++i) waiting.push_back(knock());
  EXPECT_TRUE(ask(1));
  waiting.clear();
  const std::uint64_t begin = os::monotonic_ns();
  const std::string text(200, 'z');
  for (int i = 0; i < 10000; ++i) {
    const os::FileDescriptor stranger = knock();
    if (i % 3 != 0) say(stranger, text.data(), text.size());
    // Without the 2 minutes for which the kernel would keep the port.
    const linger at_once{1, 0};
    ::setsockopt(stranger.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  EXPECT_TRUE(ask(0) && ask(1));
  const std::uint64_t seconds = (os::monotonic_ns() - begin) / 1'000'000'000 + 3;
  EXPECT_LE(lines_.all().size(), seconds + 2);
  EXPECT_TRUE(comes_true([&] { return open_files() <= files_before + 4; })) << open_files() - files_before;
}

// A rank of the job sends bytes that are no frame: the connection ends, and the rank is named; the other
// ranks go on.
TEST_F(TcpDoor, ClosesAConnectionWithForeignFrames) {
  Caller caller(Rank{1}, 2, "test", secret_of_tests);
  const os::FileDescriptor socket = knock();
  ASSERT_TRUE(shake_hands(socket, caller));
  ASSERT_TRUE(is_welcome(socket));
  const std::string frames(1000, 'q');
  ASSERT_TRUE(say(socket, frames.data(), frames.size()));
  EXPECT_TRUE(is_shown_out(socket));
  EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 1; }));
}

TEST_F(TcpDoor, NothingListensAndNoFileStaysOpenAfterTheEnd) {
  close();
  const std::size_t files = open_files();
  open(2, tcp_options_of_tests());
  ASSERT_TRUE(ask(0) && ask(1));
  close();
  EXPECT_EQ(open_files(), files);
  EXPECT_LT(knock().number(), 0);
}

TEST_F(TcpDoor, APeerThatCannotBeReachedIsReported) {
  TcpOptions options = tcp_options_of_tests();
  options.reach_max = 300ms;
  open(2, options);
  services_.reset();
  ranks_[1].fabric.reset();
  ranks_[1].transport.reset();
  ASSERT_EQ(ranks_[0].fabric->send(Rank{1}, MessageKind::unassigned, Urgency::promptly, {}), Outcome::done);
  const std::uint64_t end = os::monotonic_ns() + patience_ns;
  while (watcher_.failed.load() == 0 && os::monotonic_ns() < end) ranks_[0].fabric->progress();
  EXPECT_EQ(watcher_.failed.load(), 1u);
  EXPECT_EQ(watcher_.kind.load(), Loss::Kind::unreachable);
  EXPECT_STREQ(watcher_.reason.load(), "no process listens there, or a firewall refuses");
  EXPECT_EQ(ranks_[0].transport->way_to(Rank{1}).rfind("at 127.0.0.1:", 0), 0u);
}

// The connecting rank is told. To the listening rank it may be a rank that has tried several addresses.
TEST_F(TcpDoor, ARankWithAnotherSecretIsNotReached) {
  TcpOptions options = tcp_options_of_tests();
  options.reach_max = 3500ms;
  const std::array<std::byte, 32> other{};
  open(2, options, other);
  ASSERT_EQ(ranks_[0].fabric->send(Rank{1}, MessageKind::unassigned, Urgency::promptly, {}), Outcome::done);
  EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 1; }));
  EXPECT_EQ(watcher_.kind.load(), Loss::Kind::unreachable);
  EXPECT_STREQ(watcher_.reason.load(), "the program that listens there does not know the job's secret");
  EXPECT_TRUE(lines_.all().empty());
}

TEST(TcpOpen, FailsForAllWhereOneRankIsOfAnotherBuild) {
  ExchangeBoard board(2);
  std::vector<Result<void>> outcomes(2);
  std::vector<std::thread> openers;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    openers.emplace_back([&, rank] {
      TcpOptions options = tcp_options_of_tests();
      options.build = rank == 0 ? "one" : "other";
      auto opened = open_tcp(Rank{rank}, 2, options, board.of(Rank{rank}));
      if (!opened) outcomes[rank] = opened.error();
    });
  }
  for (auto& opener : openers) opener.join();
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_TRUE(has(outcome.error().message, "start all ranks from the same installation"))
        << outcome.error().message;
  }
}

TEST(TcpOpen, NamesAnUnknownNetwork) {
  ExchangeBoard board(1);
  TcpOptions options = tcp_options_of_tests("no-such-network");
  auto opened = open_tcp(Rank{0}, 1, options, board.of(Rank{0}));
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(has(opened.error().message, "no-such-network")) << opened.error().message;
}

TEST(TcpOpen, KeepsToTheRangeOfPorts) {
  os::SocketAddress taken = os::addresses_of_network("127.0.0.1").value()[0];
  auto listening = os::listen_at(taken, {});
  ASSERT_TRUE(listening.ok());
  os::SocketAddress next = taken;
  const auto last = static_cast<std::uint16_t>(taken.port() + 20);
  auto second = os::listen_at(next, {taken.port(), last});
  ASSERT_TRUE(second.ok());
  EXPECT_GT(next.port(), taken.port());
  EXPECT_LE(next.port(), last);
  os::SocketAddress none = taken;
  auto third = os::listen_at(none, {taken.port(), taken.port()});
  ASSERT_FALSE(third.ok());
  EXPECT_TRUE(has(third.error().message, "127.0.0.1:" + std::to_string(taken.port())))
      << third.error().message;
}

}  // namespace musubi::fabric::conformance
