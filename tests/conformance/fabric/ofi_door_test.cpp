// Effects of the driver ofi on the process that loads it, its messages when it cannot open, deaths of ranks,
// and attacks by strangers on the port where libfabric listens.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "ofi_ranks.h"
#include "os/clock.h"
#include "os/signal_calls.h"
#include "service_threads.h"

namespace musubi::fabric::conformance {
namespace {

// Opens ranks with these options, one each. Result: the message to rank 0.
std::string opening_fails(const std::vector<OfiOptions>& options) {
  const auto ranks = static_cast<std::uint32_t>(options.size());
  ExchangeBoard board(ranks);
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> openers;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    openers.emplace_back([&, rank] {
      OfiRank opened;
      const auto result =
          opened.open(Rank{rank}, ranks, 4096, options[rank], board.of(Rank{rank}), WaitingPolicy{});
      if (!result) errors[rank] = result.error().message;
    });
  }
  for (auto& opener : openers) opener.join();
  for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  return errors[0];
}

}  // namespace

class OfiDoor : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_provider("tcp;ofi_rxm")) GTEST_SKIP();
  }
  void open(std::uint32_t ranks) {
    board_ = std::make_unique<ExchangeBoard>(ranks);
    ranks_ = std::vector<OfiRank>(ranks);
    open_all(ranks, [&](Rank rank) {
      const Exchange spied = [this, rank, inner = board_->of(rank)](std::string_view blob) mutable {
        if (rank == Rank{0} && blob.size() > sizeof door_) {
          std::memcpy(&door_, blob.data() + blob.size() - sizeof door_, sizeof door_);
        }
        return inner(blob);
      };
      OfiOptions options = ofi_options_of_tests();
      options.messages.log = &lines_;
      return ranks_[rank.value].open(rank, ranks, 4096, options, spied, WaitingPolicy{}, &watcher_);
    });
    services_ = std::make_unique<ServiceThreads>(
        ranks, [this](Rank rank) -> Fabric& { return *ranks_[rank.value].fabric; });
  }
  // Whether rank `from` gets the word of the other rank's memory.
  bool ask(std::uint32_t from, std::uint32_t to) {
    return gets_word(*ranks_[from].fabric, Rank{to}, ranks_[to].memory.data());
  }

  Lines lines_;
  LossCounter watcher_;
  sockaddr_in door_{};
  std::unique_ptr<ExchangeBoard> board_;
  std::vector<OfiRank> ranks_;
  std::unique_ptr<ServiceThreads> services_;
};

constexpr int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTERM, SIGINT};

std::vector<sighandler_t> handlers() {
  std::vector<sighandler_t> result;
  for (const int signal : signals) {
    struct sigaction action {};
    EXPECT_EQ(os::set_signal_action(signal, nullptr, &action), 0);
    result.push_back(action.sa_handler);
  }
  return result;
}
// Before any test: the sanitizer's own, if any.
const std::vector<sighandler_t> handlers_at_start = handlers();

// The library is loaded by has_provider() at the latest; other tests of this process may have done it.
TEST_F(OfiDoor, TakesNeitherSignalsNorTheEnvironment) {
  open(2);
  EXPECT_EQ(handlers(), handlers_at_start);
  EXPECT_EQ(::getenv("IPATH_NO_BACKTRACE"), nullptr);
  EXPECT_EQ(::dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr) << "the program would see it";
}

TEST_F(OfiDoor, AllPairsMeet) {
  open(4);
  for (std::uint32_t from = 0; from < 4; ++from) {
    for (std::uint32_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      EXPECT_TRUE(ask(from, to)) << from << " asks " << to;
    }
  }
  EXPECT_EQ(ranks_[0].transport->lines(), 6u);
  EXPECT_TRUE(lines_.all().empty());
}

// Both ends of each pair at once, from many fresh starts: their first messages cross.
TEST_F(OfiDoor, RanksThatAskEachOtherAtOnceMeet) {
  for (unsigned round = 0; round < 20; ++round) {
    services_.reset();
    ranks_.clear();
    open(2);
    std::thread other([&] { EXPECT_TRUE(ask(1, 0)); });
    EXPECT_TRUE(ask(0, 1));
    other.join();
  }
}

// It receives no requests; the other ranks stay.
TEST_F(OfiDoor, ADeadPeerIsNoticed) {
  open(3);
  ASSERT_TRUE(ask(0, 1));
  ASSERT_TRUE(ask(0, 2));
  services_->end(Rank{1});
  ranks_[1].fabric.reset();
  ranks_[1].transport.reset();
  EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 1; }));
  EXPECT_TRUE(ask(0, 2));
  EXPECT_EQ(watcher_.failed.load(), 1u);
}

// libfabric reads these; ranks go on.
TEST_F(OfiDoor, NoiseAtThePortChangesNothing) {
  open(2);
  ASSERT_TRUE(ask(0, 1));
  Random random(5);
  for (unsigned round = 0; round < 200; ++round) {
    os::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(socket.number(), reinterpret_cast<sockaddr*>(&door_), sizeof door_), 0);
    std::string noise(random.below(600), '\0');
    for (char& each : noise) each = static_cast<char>(random.next());
    ::send(socket.number(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  EXPECT_TRUE(ask(0, 1));
  EXPECT_TRUE(ask(1, 0));
  EXPECT_EQ(watcher_.failed.load(), 0u);
}

TEST_F(OfiDoor, AnUnknownProviderIsNamedWithThoseThatThereAre) {
  const std::string error = opening_fails(std::vector(2, ofi_options_of_tests("carrier-pigeon")));
  EXPECT_NE(error.find("has no provider carrier-pigeon here; it has: "), std::string::npos) << error;
  EXPECT_NE(error.find("tcp;ofi_rxm"), std::string::npos) << error;
}

TEST_F(OfiDoor, RmaThatIsAskedForAndThatTheProviderHasNotIsRefused) {
  if (!has_provider("udp;ofi_rxd")) GTEST_SKIP();
  OfiOptions options = ofi_options_of_tests("udp;ofi_rxd");
  options.rma_bytes_min = 4096;
  const std::string error = opening_fails(std::vector(2, options));
  EXPECT_NE(error.find("udp;ofi_rxd of libfabric does not reach peers' memory by itself"), std::string::npos)
      << error;
}

TEST_F(OfiDoor, RanksWithDifferentProvidersOrBuildsDoNotOpen) {
  if (!has_provider("udp;ofi_rxd")) GTEST_SKIP();
  std::string error = opening_fails({ofi_options_of_tests(), ofi_options_of_tests("udp;ofi_rxd")});
  EXPECT_NE(error.find("set ofi_provider to one that all hosts have"), std::string::npos) << error;
  OfiOptions other = ofi_options_of_tests();
  other.messages.build = "other";
  error = opening_fails({ofi_options_of_tests(), other});
  EXPECT_NE(error.find("is of another build of Musubi"), std::string::npos) << error;
}

}  // namespace musubi::fabric::conformance
