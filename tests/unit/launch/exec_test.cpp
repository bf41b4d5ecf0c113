// The messages that ranks of another launcher exchange, and their meeting.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "launch/exec/connect.h"
#include "launch/exec/rendezvous.h"

namespace musubi::launch {
namespace {

using std::chrono::seconds;

TEST(HostProof, SaysWhatWasPutIn) {
  const HostProof card{"n1.cluster", "boot-pid:[4026531836]", 4711, 12, "00ff"};
  auto parsed = parse_host_proof(format(card));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value(), card);
}

TEST(HostProof, AnythingElseIsRefused) {
  for (const char* text :
       {"", ",,,,", "n1,k,1,2", "n1,k,1,2,ff,", "n1,k,x,2,ff", "n1,k,-1,2,ff", "n1,k,1,99999999999,f"}) {
    EXPECT_FALSE(parse_host_proof(text).ok()) << text;
  }
}

TEST(LeaderAddress, SaysWhatWasPutInAndFits) {
  LeaderAddress door;
  door.secret = std::string("\0\x01\xff,\n ", 6) + std::string(26, 'k');
  door.port = 4000;
  for (int i = 0; i < 40; ++i) {  // more than fit
    os::SocketAddress address;
    address.v6 = {};
    address.v6.sin6_family = i % 2 == 0 ? AF_INET : AF_INET6;
    address.set_port(4000);
    door.addresses.push_back(address);
  }
  const std::string text = format(door);
  EXPECT_LE(text.size(), value_bytes_max);
  EXPECT_EQ(text.find_first_of(" \n"), std::string::npos);
  auto parsed = parse_leader_address(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().secret, door.secret);
  EXPECT_EQ(parsed.value().port, 4000);
  ASSERT_GE(parsed.value().addresses.size(), 8u);
  EXPECT_EQ(parsed.value().addresses[1].any.sa_family, AF_INET6);
  EXPECT_EQ(parsed.value().addresses[0].port(), 4000);
}

TEST(LeaderAddress, AnythingElseIsRefused) {
  const std::string address(2 * sizeof(os::SocketAddress), '0');  // an address of no family
  for (const std::string& text :
       {std::string(), std::string("0,1"), std::string("x,1,ff"), std::string("0,70000,ff"),
        std::string("0,1,f"), std::string("0,1,fg"), std::string("0,1,ff,00"), "0,1,ff," + address}) {
    EXPECT_FALSE(parse_leader_address(text).ok()) << text;
  }
}

TEST(HostMark, IsFoundByItsCardAndByNoOther) {
  auto one = make_host_mark(), other = make_host_mark();
  ASSERT_TRUE(one.ok() && other.ok());
  const HostProof own = one.value().card;
  EXPECT_TRUE(shares_host(own, other.value().card));
  HostProof elsewhere = other.value().card;
  elsewhere.kernel += "x";
  EXPECT_FALSE(shares_host(own, elsewhere));
  HostProof of_another_file = other.value().card;
  of_another_file.file = own.file;  // as a process with this number on another host might have
  EXPECT_FALSE(shares_host(own, of_another_file));
  HostProof closed = other.value().card;
  other.value().file.close();
  EXPECT_FALSE(shares_host(own, closed));
}

// An exchange among the threads of a test.
struct Board {
  explicit Board(std::uint32_t all) : ranks(all) {}
  void fence() {
    std::unique_lock lock(mutex);
    const int before = round;
    if (++waiting == ranks) {
      waiting = 0;
      ++round;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return round != before; });
  }

  const std::uint32_t ranks;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::string> values;
  std::uint32_t waiting = 0;
  int round = 0;
};

class BoardValues final : public KeyValues {
 public:
  BoardValues(Board& board, std::uint32_t rank) : board_(board), rank_(rank) {}
  const char* language() const override { return "test"; }
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return board_.ranks; }
  Result<void> put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(board_.mutex);
    board_.values[std::to_string(rank_) + std::string(key)] = value;
    return {};
  }
  Result<void> fence() override {
    board_.fence();
    return {};
  }
  Result<std::string> get(std::uint32_t rank, std::string_view key) override {
    const std::lock_guard lock(board_.mutex);
    return board_.values[std::to_string(rank) + std::string(key)];
  }
  Result<void> leave() override { return {}; }

 private:
  Board& board_;
  std::uint32_t rank_;
};

void meet_as(Board& board, std::uint32_t rank, const std::function<void(Rendezvous)>& body) {
  BoardValues values(board, rank);
  auto meeting = meet(values, {});
  ASSERT_TRUE(meeting.ok()) << meeting.error().message;
  body(std::move(meeting).value());
}

TEST(Rendezvous, AllConnectWithRankZeroBySecret) {
  Board board(5);
  std::vector<std::thread> others;
  for (std::uint32_t rank = 1; rank < 5; ++rank) {
    others.emplace_back(meet_as, std::ref(board), rank, [rank](Rendezvous meeting) {
      auto socket = call_rank_zero(meeting, seconds(20));
      ASSERT_TRUE(socket.ok()) << socket.error().message;
      const std::string word = std::to_string(rank);
      EXPECT_EQ(::send(socket.value().number(), word.data(), 1, 0), 1);
    });
  }
  meet_as(board, 0, [](Rendezvous meeting) {
    EXPECT_EQ(meeting.places, std::vector<std::uint16_t>(5, 0));
    EXPECT_EQ(meeting.secret.size(), 32u);
    auto sockets = await_ranks(meeting, seconds(20));
    ASSERT_TRUE(sockets.ok()) << sockets.error().message;
    EXPECT_LT(meeting.listening.number(), 0);
    for (std::uint32_t rank = 1; rank < 5; ++rank) {
      char word = 0;
      while (::recv(sockets.value()[rank].number(), &word, 1, 0) < 0 && errno == EAGAIN)
        std::this_thread::yield();
      EXPECT_EQ(word, static_cast<char>('0' + rank));
    }
  });
  for (std::thread& other : others) other.join();
}

TEST(Rendezvous, AStrangerWithAnotherSecretDoesNotGetIn) {
  Board board(2);
  std::thread other(meet_as, std::ref(board), 1, [](Rendezvous meeting) {
    meeting.secret[0] = static_cast<char>(~meeting.secret[0]);
    auto socket = call_rank_zero(meeting, std::chrono::milliseconds(500));
    ASSERT_FALSE(socket.ok());
    EXPECT_NE(socket.error().message.find("rank 1 found no way to rank 0: cannot reach rank 0 at "),
              std::string::npos)
        << socket.error().message;
  });
  meet_as(board, 0, [](Rendezvous meeting) {
    auto sockets = await_ranks(meeting, std::chrono::milliseconds(800));
    ASSERT_FALSE(sockets.ok());
    EXPECT_NE(sockets.error().message.find("in time: 1 on "), std::string::npos) << sockets.error().message;
  });
  other.join();
}

// A crowd of strangers that arrive first and send nothing, or nonsense.
TEST(Rendezvous, StrangersKeepNobodyOut) {
  Board board(2);
  std::vector<os::FileDescriptor> strangers;
  std::promise<void> crowded;
  std::thread other(meet_as, std::ref(board), 1, [&](Rendezvous meeting) {
    crowded.get_future().wait();
    auto socket = call_rank_zero(meeting, seconds(20));
    EXPECT_TRUE(socket.ok()) << socket.error().message;
  });
  meet_as(board, 0, [&](Rendezvous meeting) {
    for (int i = 0; i < 100; ++i) {
      strangers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const os::SocketAddress& door = meeting.addresses.front();
      ASSERT_EQ(::connect(strangers.back().number(), &door.any, door.bytes()), 0);
      const std::string nonsense(static_cast<std::size_t>(i) * 7, 'x');
      (void)::send(strangers.back().number(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    }
    crowded.set_value();
    auto sockets = await_ranks(meeting, seconds(20));
    EXPECT_TRUE(sockets.ok()) << sockets.error().message;
  });
  other.join();
}

// Strangers wait at a door and no descriptor is left for them: a message says so, and they are tried again
// later.
TEST(Rendezvous, ADoorWithoutFilesIsSaidAndCostsNoProcessor) {
  Board board(2);
  std::thread other(meet_as, std::ref(board), 1, [](Rendezvous) {});
  meet_as(board, 0, [&](Rendezvous meeting) {
    const os::SocketAddress& door = meeting.addresses.front();
    os::FileDescriptor stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(stranger.number(), &door.any, door.bytes()), 0);
    ASSERT_EQ(::send(stranger.number(), "x", 1, MSG_NOSIGNAL), 1);  // the kernel holds silent ones back
    testing::internal::CaptureStderr();
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int next = ::dup(0);
    ::close(next);
    // Descriptors for the set and its clock.
    const rlimit full{static_cast<rlim_t>(next) + 2, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
    rusage begin{}, end{};
    ::getrusage(RUSAGE_THREAD, &begin);
    auto sockets = await_ranks(meeting, seconds(1));
    ::getrusage(RUSAGE_THREAD, &end);
    ::setrlimit(RLIMIT_NOFILE, &before);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(sockets.ok());
    EXPECT_EQ(said.find("musubi: cannot take a connection: this process has reached its limit of"), 0u)
        << said;
    EXPECT_LE(end.ru_nvcsw - begin.ru_nvcsw, 100) << "it looks at each tick alone";
    EXPECT_LE(end.ru_utime.tv_usec + end.ru_stime.tv_usec - begin.ru_utime.tv_usec - begin.ru_stime.tv_usec,
              100'000);
  });
  other.join();
}

// For as long as strangers keep coming, however fast.
TEST(Rendezvous, StrangersWithoutEndDoNotOutlastThePatience) {
  Board board(2);
  std::thread other(meet_as, std::ref(board), 1, [](Rendezvous) {});
  meet_as(board, 0, [&](Rendezvous meeting) {
    std::atomic<bool> over = false;
    const os::SocketAddress door = meeting.addresses.front();
    std::vector<std::thread> strangers;
    for (int i = 0; i < 4; ++i) {
      strangers.emplace_back([&] {
        while (!over) {
          const os::FileDescriptor stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
          (void)::connect(stranger.number(), &door.any, door.bytes());
        }
      });
    }
    auto sockets = await_ranks(meeting, std::chrono::milliseconds(300));
    over = true;
    for (std::thread& stranger : strangers) stranger.join();
    EXPECT_FALSE(sockets.ok());
  });
  other.join();
}

TEST(Rendezvous, ARefusalOfRankZeroReachesAll) {
  Board board(3);
  const auto refused = [&](std::uint32_t rank, int status) {
    BoardValues values(board, rank);
    Lead lead;
    lead.refused_status = status;
    auto meeting = meet(values, lead);
    ASSERT_TRUE(meeting.ok());
    EXPECT_EQ(meeting.value().refused_status, 7);
    EXPECT_LT(meeting.value().listening.number(), 0);
  };
  std::thread one(refused, 1, 0), two(refused, 2, 0);
  refused(0, 7);
  one.join();
  two.join();
}

}  // namespace
}  // namespace musubi::launch
