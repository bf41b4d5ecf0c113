// The port's suite on a transport over messages that overtake each other, and attacks on it by strangers.
#include <gtest/gtest.h>
#include <unistd.h>

#include "fabric/active_messages/engine.h"
#include "fabric/messages/message_transport.h"
#include "fabric_suite.h"
#include "network_ranks.h"
#include "os/clock.h"
#include "os/memory.h"
#include "service_threads.h"
#include "shuffled_net.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

using handshake::Side;

MessageOptions options_of_tests(handshake::Log* log = nullptr) {
  MessageOptions options;
  options.secret = secret_of_tests;
  options.build = "test";
  options.log = log;
  return options;
}

struct ShuffledRank : NetworkRank<MessageTransport> {
  ShuffledNet* net = nullptr;

  void open(std::shared_ptr<ShuffledNet::Air> air, Rank self, std::size_t region_bytes,
            const MessageOptions& options, PeerWatcher* watcher = nullptr) {
    auto made = std::make_unique<ShuffledNet>(std::move(air), self, 1 + self.value);
    net = made.get();
    const Result<void> opened = open_by([&] { return MessageTransport::create(std::move(made), options); },
                                        region_bytes, WaitingPolicy{}, watcher);
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
  }
};

class ShuffledWorld final : public ServedWorld {
 public:
  ShuffledWorld(std::uint32_t ranks, std::size_t region_bytes) : ServedWorld(ranks), ranks_(ranks) {
    auto air = std::make_shared<ShuffledNet::Air>(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      ranks_[rank].open(air, Rank{rank}, region_bytes, options_of_tests());
    }
  }
  Fabric& fabric(Rank rank) override { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

 private:
  std::vector<ShuffledRank> ranks_;
};

std::unique_ptr<FabricWorld> make(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShuffledWorld>(ranks, region_bytes);
}

INSTANTIATE_TEST_SUITE_P(Messages, WaitingSuite, ::testing::Values(Driver{"shuffled", &make}), driver_name);
INSTANTIATE_TEST_SUITE_P(Messages, FabricSuite, ::testing::Values(Driver{"shuffled", &make, 2}), driver_name);

template <typename Message>
std::string_view text_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

MessageHead head_of(MessageForm form, std::uint32_t from, bool asks = true) {
  MessageHead head;
  head.from = from;
  head.form = form;
  head.asks = asks;
  return head;
}

}  // namespace

// Two ranks with service threads. A stranger may send anything to both.
class MessageDoor : public ::testing::Test {
 protected:
  static constexpr std::uint32_t ranks = 2;

  void SetUp() override { open(); }
  void open(MessageOptions options = options_of_tests()) {
    close();
    options.log = &lines_;
    auto air = std::make_shared<ShuffledNet::Air>(ranks);
    ranks_ = std::vector<ShuffledRank>(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      ranks_[rank].open(air, Rank{rank}, 4096, options, &watcher_);
    }
    services_ = std::make_unique<ServiceThreads>(
        ranks, [this](Rank rank) -> Fabric& { return *ranks_[rank.value].fabric; });
  }
  void close() {
    services_.reset();
    ranks_.clear();
  }
  void TearDown() override { close(); }

  // Whether rank `from` gets the word of the other rank's memory.
  bool ask(std::uint32_t from) {
    return gets_word(*ranks_[from].fabric, Rank{1 - from}, ranks_[1 - from].memory.data());
  }
  ::testing::AssertionResult heard(std::string_view text) {
    const bool is_heard = comes_true([&] {
      for (const std::string& line : lines_.all()) {
        if (line.find(text) != std::string::npos) return true;
      }
      return false;
    });
    if (is_heard) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << "not said: " << text << "; said: " << ::testing::PrintToString(lines_.all());
  }
  void tell(std::uint32_t rank, std::string_view text) { ranks_[rank].net->say(text); }

  Lines lines_;
  LossCounter watcher_;
  std::vector<ShuffledRank> ranks_;
  std::unique_ptr<ServiceThreads> services_;
};

TEST_F(MessageDoor, RanksMeetWhenTheyAskAndNoSooner) {
  EXPECT_EQ(ranks_[0].transport->lines(), 0u);
  EXPECT_TRUE(ask(0));
  EXPECT_EQ(ranks_[0].transport->lines(), 1u);
  EXPECT_EQ(ranks_[1].transport->lines(), 1u);
  EXPECT_TRUE(ask(1));
  EXPECT_EQ(ranks_[0].transport->lines(), 2u);
  EXPECT_TRUE(lines_.all().empty());
}

// Credit for a lane travels with requests and replies: a get is one message each way. Once a second a silent
// rank is asked whether it is alive.
TEST_F(MessageDoor, AGetIsOneMessageEachWay) {
  ASSERT_TRUE(ask(0));
  constexpr std::size_t gets = 200, others_max = 20;
  const std::size_t before[] = {ranks_[0].net->sent(), ranks_[1].net->sent()};
  for (std::size_t i = 0; i < gets; ++i) ASSERT_TRUE(ask(0));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_GE(ranks_[rank].net->sent() - before[rank], gets);
    EXPECT_LE(ranks_[rank].net->sent() - before[rank], gets + others_max);
  }
}

TEST_F(MessageDoor, WhatIsNoMessageOfOursIsALineAndNothingElse) {
  tell(0, "GET / HTTP/1.1");
  EXPECT_TRUE(heard("refused a message by shuffled: it does not speak Musubi's protocol"));
  tell(0, {});
  tell(0, std::string(ShuffledNet::parcel_size, '\xff'));
  EXPECT_TRUE(ask(0));
  EXPECT_TRUE(ask(1));
  EXPECT_EQ(watcher_.failed.load(), 0u);
}

TEST_F(MessageDoor, AMessageWithoutTheTagOfItsLineCountsForNothing) {
  ASSERT_TRUE(ask(1));
  for (const MessageForm form : {MessageForm::room, MessageForm::bytes}) {
    for (const bool asks : {true, false}) {
      MessageHead head = head_of(form, 1, asks);
      head.used = 5;
      tell(0, std::string(text_of(head)) + "12345678");
    }
  }
  EXPECT_TRUE(heard("it does not know the job's secret"));
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(0));
  EXPECT_EQ(watcher_.failed.load(), 0u);
}

TEST_F(MessageDoor, AStrangerWithAnotherSecretIsRefused) {
  const std::array<std::byte, 32> other{std::byte{9}};
  const handshake::Handshake stranger(Rank{1}, ranks, "test", other);
  ProofMessage proof{head_of(MessageForm::proof, 1), stranger.hello_to(Rank{0}, {}), {}};
  tell(0, text_of(HelloMessage{head_of(MessageForm::hello, 1), proof.hello}));
  proof.proof = stranger.prove(Side::asks, proof.hello, {});
  tell(0, text_of(proof));
  EXPECT_TRUE(heard("it does not know the job's secret"));
  AnswerMessage answer{head_of(MessageForm::answer, 1, false), {}};
  tell(0, text_of(answer));
  EXPECT_EQ(ranks_[0].transport->lines(), 0u);
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(0));
}

// Not even with the secret: the proof is over a nonce that the rank has sent to the real peer alone.
TEST_F(MessageDoor, AProofWithoutTheRanksNonceIsRefused) {
  const handshake::Handshake knowing(Rank{1}, ranks, "test", secret_of_tests);
  ProofMessage proof{head_of(MessageForm::proof, 1), knowing.hello_to(Rank{0}, {}), {}};
  proof.proof = knowing.prove(Side::asks, proof.hello, {});
  tell(0, text_of(proof));
  EXPECT_TRUE(heard("it does not know the job's secret"));
  EXPECT_EQ(ranks_[0].transport->lines(), 0u);
}

TEST_F(MessageDoor, AnotherBuildOrJobIsRefused) {
  const handshake::Handshake other(Rank{1}, ranks, "other", secret_of_tests);
  tell(0, text_of(HelloMessage{head_of(MessageForm::hello, 1), other.hello_to(Rank{0}, {})}));
  EXPECT_TRUE(heard("it is of another version or build of Musubi"));
}

// A flood of hellos keeps no rank out, and leaves no state.
TEST_F(MessageDoor, AFloodOfHellosKeepsNobodyOut) {
  const handshake::Handshake stranger(Rank{1}, ranks, "test", std::array<std::byte, 32>{});
  for (unsigned i = 0; i < 2000; ++i) {
    handshake::Nonce nonce{};
    std::memcpy(nonce.data(), &i, sizeof i);
    tell(0, text_of(HelloMessage{head_of(MessageForm::hello, 1), stranger.hello_to(Rank{0}, nonce)}));
  }
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(0));
  EXPECT_EQ(watcher_.failed.load(), 0u);
}

// Hello, answer, proof and welcome: each may be lost, and is repeated.
TEST_F(MessageDoor, AnEndBeforeTheWelcomeIsAnAttempt) {
  for (const auto& [asking, answering] : {std::pair(1u, 0u), {0u, 1u}, {2u, 0u}, {0u, 2u}, {2u, 2u}}) {
    open();
    ranks_[0].net->fail(asking);
    ranks_[1].net->fail(answering);
    EXPECT_TRUE(ask(0));
    EXPECT_TRUE(ask(1));
    EXPECT_EQ(watcher_.failed.load(), 0u) << asking << " " << answering;
  }
}

// It has proved its identity, and the welcome found it gone.
TEST_F(MessageDoor, APeerThatGoesBeforeItsWelcomeIsLost) {
  MessageOptions options = options_of_tests();
  options.reach_max = std::chrono::milliseconds(1500);
  open(options);
  services_.reset();
  Fabric &one = *ranks_[0].fabric, &other = *ranks_[1].fabric;
  ASSERT_EQ(other.send(Rank{0}, MessageKind::unassigned, Urgency::promptly, {}), Outcome::done);
  ASSERT_TRUE(comes_true([&] {
    one.progress();
    if (ranks_[0].transport->lines() == 0) other.progress();
    return ranks_[0].transport->lines() == 1;
  }));
  ranks_[1].fabric.reset();
  ranks_[1].transport.reset();
  EXPECT_TRUE(comes_true([&] {
    one.progress();
    return watcher_.failed.load() == 1;
  }));
}

TEST_F(MessageDoor, ADeadPeerIsNoticedWithoutAQuestion) {
  ASSERT_TRUE(ask(0));
  ASSERT_TRUE(ask(1));
  services_.reset();
  ranks_[1].fabric.reset();
  ranks_[1].transport.reset();
  std::atomic<bool> stop{false};
  std::thread service([&] {
    Fabric& fabric = *ranks_[0].fabric;
    while (!stop.load()) {
      if (!fabric.progress()) fabric.wait_for_service();
    }
  });
  EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 1; }));
  stop.store(true);
  ranks_[0].fabric->wake_service();
  service.join();
}

// It accepts no message, but it has not failed: patience ends.
TEST_F(MessageDoor, APeerThatNeverAnswersIsUnreachable) {
  MessageOptions options = options_of_tests();
  options.reach_max = std::chrono::milliseconds(1500);
  open(options);
  services_.reset();
  std::atomic<bool> stop{false};
  std::thread service([&] {
    Fabric& fabric = *ranks_[0].fabric;
    while (!stop.load()) {
      if (!fabric.progress()) fabric.wait_for_service();
    }
  });
  std::uint64_t word = 0;
  const Step step = get(region_of_tests, 0, &word, sizeof word);
  Event completion;
  ranks_[0].fabric->post(Rank{1}, {&step, 1}, completion);
  EXPECT_TRUE(comes_true([&] { return watcher_.failed.load() == 1; }));
  EXPECT_EQ(watcher_.kind.load(), Loss::Kind::unreachable);
  EXPECT_EQ(ranks_[0].transport->way_to(Rank{1}), "by shuffled");
  stop.store(true);
  ranks_[0].fabric->wake_service();
  service.join();
}

}  // namespace musubi::fabric::conformance
