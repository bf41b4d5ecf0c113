// Connections on which at least one end has not yet proved its identity.
#include "fabric/tcp/connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "fabric/handshake/handshake.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

using handshake::Side;

// Takes the connections made with a peer.
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

// A rank that is late itself, as one of many on few cores: bytes that a guest has sent by then count.
TEST(TcpGuests, WhatHasComeIsHeardBeforeTimeIsUp) {
  constexpr std::uint64_t guest_patience_ns = 1'000'000;
  const auto pass_time = [] { ::usleep(3000); };
  const handshake::Handshake own(Rank{0}, 2, "test", secret_of_tests),
      theirs(Rank{1}, 2, "test", secret_of_tests);
  Lines lines;
  handshake::Complaints complaints(&lines);
  const os::ReadySet set = os::ReadySet::create().value();
  tcp::PendingConnections guests(own, complaints, set, 4, guest_patience_ns);
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

namespace {

// A rank with the given number of places for guests; each guest is one end of a pair of sockets.
struct Full {
  explicit Full(std::size_t places) : guests(own, complaints, set, places, 60'000'000'000) {}
  // Result: the guest's end.
  os::FileDescriptor enter(const char* from, const void* said = nullptr, std::size_t bytes = 0) {
    auto pair = os::socket_pair().value();
    if (bytes != 0) {
      EXPECT_EQ(::send(pair.first.number(), said, bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
    }
    const int ours = ::fcntl(pair.second.number(), F_DUPFD_CLOEXEC, 0);  // the guests close it
    guests.enter(ours, os::addresses_of_network(from).value()[0], 0, joined);
    return std::move(pair.first);
  }
  os::FileDescriptor enter_as_rank(const char* from) { return enter(from, &hello, sizeof hello); }
  static bool is_in(const os::FileDescriptor& guest) {
    pollfd end{guest.number(), POLLRDHUP, 0};
    return ::poll(&end, 1, 0) == 0;
  }
  bool gets_in(const os::FileDescriptor& guest, std::uint64_t place) {
    handshake::Answer answer;
    if (::recv(guest.number(), &answer, sizeof answer, 0) != static_cast<ssize_t>(sizeof answer))
      return false;
    const handshake::Proof proof = theirs.prove(Side::asks, hello, answer.nonce);
    ::send(guest.number(), &proof, sizeof proof, MSG_NOSIGNAL);
    const int before = joined.count;
    guests.hear(place, joined);
    return joined.count == before + 1;
  }

  const handshake::Handshake own{Rank{0}, 2, "test", secret_of_tests},
      theirs{Rank{1}, 2, "test", secret_of_tests};
  const handshake::Hello hello = theirs.hello_to(Rank{0}, handshake::Nonce{});
  Lines lines;
  handshake::Complaints complaints{&lines};
  const os::ReadySet set = os::ReadySet::create().value();
  OneJoined joined{Rank{1}};
  tcp::PendingConnections guests;
};

}  // namespace

TEST(TcpGuests, SilentOnesMakeRoomFirstAndARightHelloLast) {
  Full full(3);
  const os::FileDescriptor rank = full.enter_as_rank("10.0.0.1"),
                           half = full.enter("10.0.0.2", &full.hello, 9), silent = full.enter("10.0.0.3"),
                           second = full.enter("10.0.0.4");
  EXPECT_FALSE(Full::is_in(silent));
  const os::FileDescriptor other_rank = full.enter_as_rank("10.0.0.5");
  EXPECT_FALSE(Full::is_in(second));
  const os::FileDescriptor third_rank = full.enter_as_rank("10.0.0.6");
  EXPECT_FALSE(Full::is_in(half));
  EXPECT_TRUE(full.gets_in(rank, 0));
}

// It had sent hello, and the rank had not read it yet.
TEST(TcpGuests, NoneIsSentAwayUnheard) {
  Full full(2);
  const os::FileDescriptor rank = full.enter("10.0.0.1"), silent = full.enter("10.0.0.2");
  ASSERT_EQ(::send(rank.number(), &full.hello, sizeof full.hello, 0),
            static_cast<ssize_t>(sizeof full.hello));
  const os::FileDescriptor next = full.enter("10.0.0.3");
  EXPECT_FALSE(Full::is_in(silent));
  EXPECT_TRUE(full.gets_in(rank, 0));
}

// A stranger that has overheard a hello may repeat it as often as it likes.
TEST(TcpGuests, TheAddressWithMostGuestsMakesRoom) {
  Full full(8);
  const os::FileDescriptor rank = full.enter_as_rank("10.0.0.1");
  std::vector<os::FileDescriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(full.enter_as_rank("10.0.0.2"));
  EXPECT_TRUE(full.gets_in(rank, 0));
}

// The kernel of the peer's host has answered at once; the peer itself is one of many on few cores.
TEST(TcpCalls, APeerMayTakeLongerToProveThanItsHostToConnect) {
  constexpr tcp::ConnectRace::Patience patience{20'000'000, 60'000'000'000, 60'000'000'000};
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
  tcp::OutgoingConnections calls(own, complaints, set, {{address}, {}}, patience, 0);
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
