// Each event wakes the right thread: the mailbox and its bells.
#include <gtest/gtest.h>

#include "fabric/shm/mailbox.h"
#include "os/memory.h"

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
    ring(*mailbox_, ExternalWakers{}, urgency == Urgency::promptly || posting != Posting::posted);
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
  const WaitScope stay(*mailbox_);
  post(Urgency::promptly);
  post(Urgency::when_polled);
  EXPECT_EQ(bell(), 0u);
  EXPECT_EQ(service_bell(), 0u);
}

TEST_F(Bells, ASleeperIsRungOnceUntilItRuns) {
  WaitScope stay(*mailbox_);
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
  // The slow producer has its ticket; a prompt message waits for the slot before its own.
  mailbox_->tickets.fetch_add(1);
  MailboxReader reader(*mailbox_);
  post(Urgency::promptly);
  EXPECT_FALSE(reader.arrived());
  const std::uint32_t before = service_bell();
  mailbox_->slots[0].kind = MessageKind::unassigned;
  mailbox_->slots[0].turn.store(1);
  ring(*mailbox_, ExternalWakers{}, false);
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

// A late ring may be one that the service thread has already heard: if it cleared the announcement of the
// next sleep, nothing would end that sleep.
TEST_F(Bells, TheServiceThreadsAnnouncementStaysUntilItTakesItBack) {
  mailbox_->service_asleep.store(1);
  ring_service(*mailbox_, ExternalWakers{});
  EXPECT_EQ(service_bell(), 1u);
  EXPECT_EQ(mailbox_->service_asleep.load(), 1u);
}

}  // namespace
}  // namespace musubi::fabric::conformance
