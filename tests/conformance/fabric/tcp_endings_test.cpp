// The meaning of the end of a connection between two ranks, before its welcome and after, and of another
// connection in its place.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "fabric/handshake/handshake.h"
#include "os/clock.h"
#include "tcp_door.h"

namespace musubi::fabric::conformance {

using handshake::Side;

TEST_F(TcpDoor, RefusesASecondConnectionOfARank) {
  ASSERT_TRUE(ask(1));
  Caller caller(Rank{1}, 2, "test", secret_of_tests);
  caller.hello.attempt = 7;
  const os::FileDescriptor socket = knock();
  ASSERT_TRUE(shake_hands(socket, caller));
  EXPECT_TRUE(is_shown_out(socket));
  EXPECT_TRUE(heard("its rank is connected already"));
  EXPECT_TRUE(ask(1));
}

// The rank has a connection that it has made since then: no line says that a stranger was refused.
TEST_F(TcpDoor, AnAttemptThatWasGivenUpEndsWithoutAWord) {
  Caller caller(Rank{1}, 2, "test", secret_of_tests);
  const os::FileDescriptor socket = knock();
  ASSERT_TRUE(say(socket, &caller.hello, sizeof caller.hello));
  ASSERT_TRUE(hear(socket, &caller.answer, sizeof caller.answer));
  ASSERT_TRUE(ask(1));
  const handshake::Proof proof = caller.handshake.prove(Side::asks, caller.hello, caller.answer.nonce);
  ASSERT_TRUE(say(socket, &proof, sizeof proof));
  EXPECT_TRUE(is_shown_out(socket));
  EXPECT_TRUE(ask(0) && ask(1));
  EXPECT_TRUE(lines_.all().empty());
}

// The end before the first request is no death, and the next attempt is let in, even if it arrives first.
TEST_F(TcpDoor, AWelcomeThatDidNotArriveIsRepeated) {
  Caller caller(Rank{1}, 2, "test", secret_of_tests);
  os::FileDescriptor before;
  for (std::uint32_t attempt = 1; attempt <= 4; ++attempt) {
    caller.hello.attempt = attempt;
    os::FileDescriptor socket = knock();
    ASSERT_TRUE(shake_hands(socket, caller));
    ASSERT_TRUE(is_welcome(socket)) << attempt;
    const bool replaces = attempt % 2 == 0;
    EXPECT_TRUE(!replaces || is_shown_out(before));
    before = std::move(socket);
    if (replaces) before.close();
  }
  EXPECT_TRUE(comes_true([&] { return ranks_[0].transport->connections() == 0; }));
  EXPECT_EQ(watcher_.failed.load(), 0u);
  EXPECT_TRUE(ask(0));
  EXPECT_TRUE(lines_.all().empty());
}

// By a reset or in order: the rank sends that peer no more requests, and says that the other connection is in
// use.
TEST_F(TcpDoor, TheEndOfOneConnectionIsTheEndOfThePeer) {
  const std::string cut = "one of its connections was cut, but the other is open";
  for (const bool by_reset : {true, false}) {
    open(2, tcp_options_of_tests());
    watcher_.failed.store(0);
    ASSERT_TRUE(ask(0));
    Caller caller(Rank{1}, 2, "test", secret_of_tests);
    os::FileDescriptor socket = knock();
    ASSERT_TRUE(shake_hands(socket, caller));
    ASSERT_TRUE(is_welcome(socket));
    ASSERT_TRUE(say(socket, "x", 1));  // the beginning of a request
    EXPECT_TRUE(ask(0));
    const linger at_once{1, 0};
    if (by_reset) ::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket.close();
    // The other rank reports its own loss then.
    EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 2; }));
    EXPECT_EQ(watcher_.kind.load(), Loss::Kind::ended);
    EXPECT_EQ(std::ranges::count(watcher_.reasons.all(), cut), by_reset ? 1 : 2);
    EXPECT_TRUE(comes_true([&] { return ranks_[1].transport->connections() == 0; }))
        << "the peer learns of it";
  }
}

TEST_F(TcpDoor, ADeadPeerIsReportedOnce) {
  open(2, tcp_options_of_tests());
  ASSERT_TRUE(ask(0) && ask(1));
  for (auto& rank : ranks_) rank.transport->wake(Sleeper::service);
  services_.reset();
  ranks_[1].fabric.reset();
  ranks_[1].transport.reset();
  const std::uint64_t end = os::monotonic_ns() + patience_ns;
  while (watcher_.failed.load() == 0 && os::monotonic_ns() < end) ranks_[0].fabric->progress();
  for (int i = 0; i < 100; ++i) ranks_[0].fabric->progress();
  EXPECT_EQ(watcher_.failed.load(), 1u);
}

}  // namespace musubi::fabric::conformance
