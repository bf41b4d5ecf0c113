// Connections of which not both ends have proved yet who they are.
#include "fabric/tcp/guests.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/handshake/handshake.h"
#include "fabric/tcp/calls.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

using handshake::Side;

// Takes what was made with a peer.
class OneJoined final : public Joined {
 public:
  explicit OneJoined(Rank expected) : expected_(expected) {}
  PeerLife::Verdict joined(Rank peer, bool, int socket, std::uint32_t) noexcept override {
    sockets.emplace_back(socket);
    ++count;
    return peer == expected_ ? PeerLife::Verdict::welcome : PeerLife::Verdict::second;
  }
  void unreachable(Rank, const char* why) noexcept override { reason = why; }
  int count = 0;
  std::vector<os::FileDescriptor> sockets;
  const char* reason = nullptr;

 private:
  const Rank expected_;
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
  tcp::Guests guests(own, complaints, set, 4, guest_patience_ns);
  OneJoined joined(Rank{1});
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  guests.enter(ends[0], {}, 0, joined);
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

// The kernel of the peer's host has answered at once; the peer itself is one of many on few cores.
TEST(TcpCalls, APeerMayTakeLongerToProveThanItsHostToConnect) {
  constexpr tcp::Race::Patience patience{20'000'000, 60'000'000'000, 60'000'000'000};
  const handshake::Handshake own(Rank{1}, 2, "test", secret_of_tests),
      theirs(Rank{0}, 2, "test", secret_of_tests);
  const int door = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  os::SocketAddress address;
  address.v4 = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t bytes = sizeof address.v4;
  ASSERT_EQ(::bind(door, &address.any, bytes), 0);
  ASSERT_EQ(::listen(door, 4), 0);
  ASSERT_EQ(::getsockname(door, &address.any, &bytes), 0);
  Lines lines;
  handshake::Complaints complaints(&lines);
  const os::ReadySet set = os::ReadySet::create().value();
  tcp::Calls calls(own, complaints, set, {{address}, {}}, patience, 0);
  OneJoined joined(Rank{0});
  const auto go_on = [&] {
    epoll_event event;
    ASSERT_EQ(set.sleep({&event, 1}, 10'000), 1u) << "the call was given up";
    calls.go_on(event.data.u64, event.events, joined);
  };
  calls.begin(Rank{0}, joined);
  go_on();
  const int peer = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
  handshake::Hello hello;
  ASSERT_EQ(::recv(peer, &hello, sizeof hello, MSG_WAITALL), static_cast<ssize_t>(sizeof hello));
  ::usleep(40'000);
  calls.look_at_clock(joined);
  handshake::Answer answer;
  answer.proof = theirs.prove(Side::answers, hello, answer.nonce);
  ASSERT_EQ(::send(peer, &answer, sizeof answer, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof answer));
  go_on();
  EXPECT_EQ(joined.count, 0);
  handshake::Proof proof;
  ASSERT_EQ(::recv(peer, &proof, sizeof proof, MSG_WAITALL), static_cast<ssize_t>(sizeof proof));
  const handshake::Welcome welcome;
  ASSERT_EQ(::send(peer, &welcome, sizeof welcome, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof welcome));
  go_on();
  EXPECT_EQ(joined.count, 1);
  EXPECT_TRUE(calls.empty());
  ::close(peer);
  ::close(door);
}

}  // namespace musubi::fabric::conformance
