// Connections that have not proved yet who they are.
#include "fabric/tcp/guests.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/handshake/handshake.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

using handshake::Side;
using namespace std::chrono_literals;

// Takes what was made, and closes it.
class OneJoined final : public Joined {
 public:
  bool joined(Rank peer, bool, int socket) noexcept override {
    ::close(socket);
    return ++count, peer == Rank{1};
  }
  void unreachable(Rank, const os::SocketAddress&, const char*) noexcept override {}
  int count = 0;
};

}  // namespace

// A rank that is late itself, as one of many on few cores: what a guest has said by then counts.
TEST(TcpGuests, WhatHasComeIsHeardBeforeTimeIsUp) {
  constexpr std::uint64_t guest_patience_ns = 1'000'000;
  const auto pass_time = [] { ::usleep(3000); };
  const handshake::Handshake own(Rank{0}, 2, "test", secret_of_tests),
      theirs(Rank{1}, 2, "test", secret_of_tests);
  Lines lines;
  handshake::Complaints complaints(&lines);
  const os::ReadySet set = os::ReadySet::create().value();
  tcp::Guests guests(own, complaints, set, 4, guest_patience_ns, 1s);
  OneJoined joined;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  guests.enter(ends[0], {}, 0);
  const handshake::Hello hello = theirs.hello_to(Rank{0}, handshake::Nonce{});
  ASSERT_EQ(::send(ends[1], &hello, sizeof hello, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof hello));
  pass_time();
  guests.look_at_clock(joined);
  handshake::Answer answer;
  ASSERT_EQ(::recv(ends[1], &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
  const handshake::Proof proof = theirs.prove(Side::asks, hello, answer.nonce);
  ASSERT_EQ(::send(ends[1], &proof, sizeof proof, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof proof));
  pass_time();
  guests.look_at_clock(joined);
  EXPECT_EQ(joined.count, 1);
  EXPECT_TRUE(lines.all().empty());
  ::close(ends[1]);
}

}  // namespace musubi::fabric::conformance
