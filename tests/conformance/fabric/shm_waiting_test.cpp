// What wakes which thread: the mailbox and its bells, and threads of one rank that wait.
#include <gtest/gtest.h>

#include <thread>

#include "fabric/shm/doorbell.h"
#include "inbox.h"
#include "shm_ranks.h"

namespace musubi::fabric::conformance {
namespace {

class Bells : public ::testing::Test {
 protected:
  Bells() {
    auto memory = os::Mapping::anywhere(sizeof(Mailbox), os::Protection::read_write);
    memory_ = std::move(memory).value();
    mailbox_ = reinterpret_cast<Mailbox*>(memory_.data());
  }
  Posting post(Urgency urgency) {
    const Posting posting = mailbox_post(*mailbox_, Rank{1}, MessageKind::unassigned, urgency, {});
    ring(*mailbox_, urgency == Urgency::promptly || posting != Posting::posted);
    return posting;
  }
  std::uint32_t bell() const { return mailbox_->bell.load(); }
  std::uint32_t service_bell() const { return mailbox_->service_bell.load(); }

  os::Mapping memory_;
  Mailbox* mailbox_ = nullptr;
};

TEST_F(Bells, WhenPolledRingsNothingWhileNobodyWaits) {
  post(Urgency::when_polled);
  EXPECT_EQ(bell(), 0u);
  EXPECT_EQ(service_bell(), 0u);
}

TEST_F(Bells, PromptlyRingsTheServiceWhileNobodyWaits) {
  post(Urgency::promptly);
  EXPECT_EQ(bell(), 0u);
  EXPECT_EQ(service_bell(), 1u);
}

TEST_F(Bells, NothingIsRungForAThreadThatPolls) {
  const Stay stay(*mailbox_);
  post(Urgency::promptly);
  post(Urgency::when_polled);
  EXPECT_EQ(bell(), 0u);
  EXPECT_EQ(service_bell(), 0u);
}

TEST_F(Bells, ASleeperIsRungOnceUntilItRuns) {
  Stay stay(*mailbox_);
  stay.announce_sleep();
  post(Urgency::when_polled);
  EXPECT_TRUE(stay.rung());
  post(Urgency::when_polled);
  post(Urgency::promptly);
  EXPECT_EQ(bell(), 1u);
  EXPECT_EQ(service_bell(), 0u);
  stay.sleep();  // returns at once: the bell was rung before
}

TEST_F(Bells, AnEarlierPromptMessageIsRungForWhenASlowProducerPublishes) {
  // The slow producer has its ticket; a prompt message is stuck behind its slot.
  mailbox_->tickets.fetch_add(1);
  MailboxReader reader(*mailbox_);
  post(Urgency::promptly);
  EXPECT_FALSE(reader.arrived());
  const std::uint32_t before = service_bell();
  mailbox_->slots[0].kind = MessageKind::unassigned;
  mailbox_->slots[0].turn.store(1);
  ring(*mailbox_, false);
  EXPECT_EQ(service_bell(), before + 1);
  EXPECT_TRUE(reader.arrived());
  reader.drop();
  EXPECT_TRUE(reader.arrived());
  reader.drop();
  EXPECT_FALSE(reader.arrived());
  EXPECT_EQ(mailbox_->prompt_messages.load(), 0u);
}

TEST_F(Bells, TheServiceIsRungWhenTheMailboxFillsUp) {
  std::uint64_t posted = 0;
  while (service_bell() == 0 && post(Urgency::when_polled) != Posting::full) ++posted;
  EXPECT_GE(posted, mailbox_slots / 2);
  EXPECT_LT(posted, mailbox_slots);
  while (post(Urgency::when_polled) != Posting::full) ++posted;
  const std::uint32_t before = service_bell();
  EXPECT_EQ(post(Urgency::when_polled), Posting::full);
  EXPECT_GT(service_bell(), before);
}

TEST_F(Bells, AProducerThatDiedLeavesAFullMailboxNotAHang) {
  mailbox_->tickets.fetch_add(1);
  MailboxReader reader(*mailbox_);
  std::uint64_t posted = 0;
  while (post(Urgency::when_polled) != Posting::full) ++posted;
  EXPECT_EQ(posted, mailbox_slots - 1);
  EXPECT_FALSE(reader.arrived());
}

// A ring that comes late may be one that the service thread has heard already: if it took the announcement of
// the next sleep back, nobody would be woken out of that.
TEST_F(Bells, TheServiceThreadsAnnouncementStaysUntilItTakesItBack) {
  mailbox_->service_asleep.store(1);
  ring_service(*mailbox_);
  EXPECT_EQ(service_bell(), 1u);
  EXPECT_EQ(mailbox_->service_asleep.load(), 1u);
}

// Two ranks in this process.
class ShmWaiting : public ::testing::TestWithParam<WaitingPolicy> {
 protected:
  ShmWaiting() {
    std::thread other([this] { open(1); });
    open(0);
    other.join();
  }
  void open(std::uint32_t rank) {
    auto opened = ranks_[rank].open(Rank{rank}, 2, 4096, board_.of(Rank{rank}), GetParam());
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
  }
  Fabric& fabric(std::uint32_t rank) { return *ranks_[rank].fabric; }

  ExchangeBoard board_{2};
  ShmRank ranks_[2];
};

class Count final : public Listener {
 public:
  void on_message(Rank, std::span<const std::byte>) noexcept override { number.fetch_add(1); }
  std::atomic<unsigned> number{0};
};

TEST_P(ShmWaiting, ReadyAndWakeEndEveryWait) {
  for (unsigned round = 0; round < 2000; ++round) {
    std::atomic<bool> ready{false};
    std::thread first([&] {
      while (!ready.load()) fabric(0).wait(ready);
    });
    std::thread second([&] {
      while (!ready.load()) fabric(0).wait(ready);
    });
    if (round % 2 == 0) ::sched_yield();
    ready.store(true);
    fabric(0).wake();
    first.join();
    second.join();
  }
}

TEST_P(ShmWaiting, WakeServiceIsNotLostBeforeTheSleep) {
  for (unsigned round = 0; round < 2000; ++round) {
    fabric(0).wake_service();
    fabric(0).wait_for_service();  // would sleep for ever
    std::thread waker([&] { fabric(0).wake_service(); });
    fabric(0).wait_for_service();
    waker.join();
  }
}

// Waiters that come and go, a service thread, and a sender: every prompt message is delivered although nobody
// calls progress() on purpose.
TEST_P(ShmWaiting, NoPromptMessageIsStranded) {
  constexpr unsigned bursts = 20000;
  Count count;
  fabric(0).listen(MessageKind::unassigned, &count);
  std::atomic<bool> stop{false};
  std::thread service([&] {
    while (!stop.load()) {
      fabric(0).wait_for_service();
      fabric(0).progress();
    }
  });
  std::atomic<bool> ready{false};
  std::thread visitor([&] {
    while (!stop.load()) {
      fabric(0).wait(ready);  // leaves without progress()
      for (unsigned i = 0; i < 20; ++i) os::monotonic_ns();
    }
  });
  for (unsigned sent = 1; sent <= bursts; ++sent) {
    while (fabric(1).send(Rank{0}, MessageKind::unassigned, Urgency::promptly, {}) == Outcome::busy)
      ::sched_yield();
    if (sent % 8 == 0) ready.store(sent % 16 == 0);
    if (sent % 16 == 0) fabric(0).wake();
    const std::uint64_t patience_ends_ns = os::monotonic_ns() + 20'000'000'000u;
    while (count.number.load() < sent) {
      ASSERT_LT(os::monotonic_ns(), patience_ends_ns) << "message " << sent << " is stranded";
      ::sched_yield();
    }
  }
  stop.store(true);
  ready.store(true);
  fabric(0).wake();
  fabric(0).wake_service();
  service.join();
  visitor.join();
}

INSTANTIATE_TEST_SUITE_P(Policies, ShmWaiting,
                         ::testing::Values(WaitingPolicy{}, WaitingPolicy{.spin_checks = 0, .yields = 50},
                                           WaitingPolicy{.spin_checks = 20, .yields = 1}));

}  // namespace
}  // namespace musubi::fabric::conformance
