// The barrier over mapped memory: ranks are threads of this process, which write into each other's slots.
#include "sync/barrier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "coherence/core/block_words.h"
#include "coherence/no_ordering.h"
#include "coherence/regions.h"
#include "far_fabric.h"
#include "shm_ranks.h"
#include "thread_executor.h"

namespace musubi::sync {
namespace {

using coherence::Notice;
using fabric::WaitingPolicy;
using fabric::conformance::ExchangeBoard;
using fabric::conformance::ShmRank;

constexpr std::size_t notices_max = 128;

// Notices of rank `rank` before barrier `epoch`: mostly none, sometimes more than fit a message.
std::size_t notices_of(std::uint32_t rank, std::uint64_t epoch) {
  constexpr std::size_t counts[]{0, 0, 1, 0, 121, 0, 0, 3};
  return counts[(epoch + 3 * rank) % std::size(counts)];
}

// Whether all threads of the last rank, and so all threads of the job, wait for barrier `epoch`.
bool all_wait(std::uint64_t epoch) {
  return epoch % 3 != 0;
}

// Whether no program code runs on a rank while this thread waits in barrier `epoch`: a handler, for example.
bool is_quiescent(std::uint32_t rank, std::uint64_t epoch) {
  return (epoch + rank) % 2 != 0;
}

// Distributes the notices of each barrier, and keeps those that it acquires.
class RecordingProtocol final : public coherence::Protocol {
 public:
  RecordingProtocol(const runtime::FarFabric& fabric, bool at_once)
      : fabric_(fabric), self_(fabric.self()), at_once_(at_once) {}

  Task<bool> fault(BlockId, vm::Access) override { co_return true; }
  bool release_at_once(bool quiescent) override {
    if (at_once_) begin(quiescent);
    return at_once_;
  }
  Task<> release(coherence::Scope, bool quiescent) override {
    begin(quiescent);
    co_return;
  }
  std::uint64_t signature(coherence::SignatureSink& sink) override {
    ++questions_;
    sink.take({{}, given_});
    return epoch_;
  }
  bool acquire_at_once(coherence::SignatureView signature, coherence::Audience audience) override {
    if (at_once_) record(signature, audience);
    return at_once_;
  }
  Task<> acquire(coherence::SignatureView signature, coherence::Audience audience,
                 coherence::Scope) override {
    record(signature, audience);
    co_return;
  }
  void forget(std::uint64_t mark) override { forgotten_ = mark; }
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime) override { co_return; }
  Task<> modify(BlockId, coherence::Modification&) override { co_return; }
  void pin(BlockId, std::uint64_t) override {}
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  void adopt(BlockId, std::uint64_t) override {}
  coherence::Ordering& ordering() override { return ordering_; }

  // Releases, signatures and acquires.
  std::uint64_t questions() const { return questions_; }
  // Releases and acquires made while the rank announced that it polls for arrivals.
  unsigned while_looking() const { return while_looking_; }
  // After each barrier: every notice that any rank distributed for it, exactly once.
  bool has_everything(std::uint32_t ranks) const {
    std::vector<std::uint64_t> expected;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < notices_of(rank, epoch_); ++i) expected.push_back(block_of(Rank{rank}, i));
    }
    const bool complete = all_wait(epoch_);
    if (notices_of(self_.value, epoch_) != 0 && forgotten_ != (complete ? epoch_ : epoch_ - 1)) return false;
    return acquired_ == expected &&
           audience_ == (complete ? coherence::Audience::everyone : coherence::Audience::all_ranks_soon);
  }

 private:
  coherence::NoOrdering ordering_{*this};
  static std::uint64_t block_of(Rank rank, std::size_t i) { return rank.value * 1000 + i; }
  void begin(bool) {
    ++questions_;
    while_looking_ += fabric_.looks() != 0;
    ++epoch_;
    given_.clear();
    for (std::size_t i = 0; i < notices_of(self_.value, epoch_); ++i) {
      const LogicalTime time{i == 2 ? epoch_ << 33 : epoch_};  // too far from the other times to be packed
      given_.push_back(Notice{BlockId{block_of(self_, i)}, time, time, self_});
    }
  }
  void record(coherence::SignatureView signature, coherence::Audience audience) {
    ++questions_;
    while_looking_ += fabric_.looks() != 0;
    audience_ = audience;
    acquired_.clear();
    for (const Notice& notice : signature.notices) acquired_.push_back(notice.block.value);
    std::sort(acquired_.begin(), acquired_.end());
  }

  const runtime::FarFabric& fabric_;
  Rank self_;
  bool at_once_;
  unsigned while_looking_ = 0;
  std::uint64_t questions_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t forgotten_ = 0;
  coherence::Audience audience_ = coherence::Audience::unknown;
  std::vector<Notice> given_;
  std::vector<std::uint64_t> acquired_;
};

struct Shape {
  std::uint32_t ranks;
  WaitingPolicy policy;
  bool at_once;       // the protocol needs no task
  bool late = false;  // a rank sometimes comes late, so that the other ranks ask for messages
  std::uint32_t ranks_per_host = 64;
};

struct Outcome {
  std::uint64_t wrong = 0;  // barriers after which a rank did not know all notices
  std::uint64_t through = 0;
  std::uint64_t messages = 0;
  unsigned looked_wrongly = 0;  // messages before the rank announced polling, work after it, no end
};

void run_rank(ShmRank& place, const Shape& shape, std::uint64_t barriers, Outcome& outcome) {
  const Rank self = place.fabric->self();
  runtime::FarFabric fabric(*place.fabric, shape.ranks_per_host);
  RecordingProtocol protocol(fabric, shape.at_once);
  Barrier barrier(fabric, protocol, place.counters, place.memory.data(), 0, notices_max, UINT64_MAX);
  fabric::conformance::ThreadExecutor executor(*place.fabric);
  const std::atomic<bool> never{false};
  const auto finish = [&](Barrier::Passage& passage) {
    Task<> rest = barrier.finish(passage);
    executor.drive(rest, never);
  };
  for (std::uint64_t epoch = 1; epoch <= barriers; ++epoch) {
    if (shape.late && epoch % shape.ranks == self.value)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    Barrier::Payload payload{};
    if (self == Rank{0}) payload = {epoch, 2, 3, 4, 5, ~epoch};
    const bool complete = all_wait(epoch) || self.value + 1 != shape.ranks;
    Barrier::Passage passage(payload, is_quiescent(self.value, epoch), complete);
    if (barrier.pass(passage)) {
      ++outcome.through;
    } else {
      finish(passage);
    }
    const bool right = payload == Barrier::Payload{epoch, 2, 3, 4, 5, ~epoch};
    if (!right || !protocol.has_everything(shape.ranks)) ++outcome.wrong;
    bool others = true;
    for (std::uint32_t rank = 1; rank < shape.ranks; ++rank) others = others && is_quiescent(rank, epoch);
    if (passage.others_quiescent() != others) ++outcome.wrong;
  }
  outcome.messages = place.counters.get(trace::Counter::messages);
  // No rank is asked for notices then, however many there are.
  const std::uint64_t questions = protocol.questions();
  Barrier::Payload last{self.value, 7};
  Barrier::Passage passage = Barrier::Passage::last(last);
  if (!barrier.pass(passage)) finish(passage);
  if (protocol.questions() != questions || last != Barrier::Payload{0, 7}) ++outcome.wrong;
  outcome.looked_wrongly = fabric.sent_without_looks() + protocol.while_looking() + (fabric.looks() != 0);
}

std::vector<Outcome> run(const Shape& shape, std::uint64_t barriers) {
  ExchangeBoard board(shape.ranks);
  std::vector<ShmRank> places(shape.ranks);
  std::vector<Outcome> outcomes(shape.ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const std::size_t bytes = (Barrier::board_bytes(shape.ranks, notices_max) + 4095) / 4096 * 4096;
      auto opened = places[rank].open(Rank{rank}, shape.ranks, std::max<std::size_t>(bytes, 4096),
                                      board.of(Rank{rank}), shape.policy, coherence::control_region);
      MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
      run_rank(places[rank], shape, barriers, outcomes[rank]);
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

void expect_all_right(const Shape& shape, std::uint64_t barriers) {
  for (const Outcome& outcome : run(shape, barriers)) EXPECT_EQ(outcome.wrong, 0u) << shape.ranks << " ranks";
}

TEST(Barrier, BringsEverythingToEverybodyWhenRanksSleepAtOnce) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 8u}) {
    expect_all_right({ranks, WaitingPolicy{}, false}, 400);
    expect_all_right({ranks, WaitingPolicy{}, true}, 400);
  }
}

TEST(Barrier, BringsEverythingToEverybodyWhenRanksLookForAWhile) {
  for (const std::uint32_t ranks : {2u, 3u, 4u, 8u}) {
    expect_all_right({ranks, WaitingPolicy{0, 20}, false}, 400);
    expect_all_right({ranks, WaitingPolicy{0, 20}, true}, 400);
  }
}

TEST(Barrier, BringsEverythingToEverybodyWhenSomeComeLate) {
  for (const std::uint32_t ranks : {2u, 3u, 5u}) {
    expect_all_right({ranks, WaitingPolicy{0, 2}, true, true}, 400);
    expect_all_right({ranks, WaitingPolicy{}, false, true}, 400);
  }
}

// With two ranks on each host, some peers are within reach and some are not.
TEST(Barrier, BringsEverythingToEverybodyOnSeveralHosts) {
  for (const std::uint32_t ranks : {3u, 4u, 5u}) {
    expect_all_right({ranks, WaitingPolicy{}, false, false, 2}, 400);
    expect_all_right({ranks, WaitingPolicy{0, 20}, true, true, 2}, 400);
  }
}

// One line per round and rank; a message in addition only if the peer has asked for it. Among two ranks the
// last to look need not ask; the other rank may look until it is done, unless its yields take too long.
TEST(Barrier, SendsNoMessageToWhoLooksByItself) {
  constexpr std::uint64_t barriers = 200;
  std::uint64_t messages = 0, through = 0;
  for (const Outcome& outcome : run({2, WaitingPolicy{0, 100'000'000}, true}, barriers)) {
    EXPECT_EQ(outcome.wrong, 0u);
    messages += outcome.messages;
    through += outcome.through;
  }
  EXPECT_GE(through, barriers);
  EXPECT_EQ(messages, 2 * barriers + (2 * barriers - through));
}

// The peer's message mostly comes while this rank sends its own: it need not wake the service thread.
TEST(Barrier, SaysThatItLooksForArrivalsFromItsFirstMessageToTheLast) {
  for (const bool at_once : {true, false}) {
    for (const Outcome& outcome : run({3, WaitingPolicy{}, at_once, true, 1}, 100)) {
      EXPECT_EQ(outcome.looked_wrongly, 0u);
      EXPECT_GE(outcome.messages, 2 * 100u);
    }
  }
}

TEST(Barrier, ARankAloneIsThroughAtOnce) {
  for (const Outcome& outcome : run({1, WaitingPolicy{}, true}, 10)) {
    EXPECT_EQ(outcome.through, 10u);
    EXPECT_EQ(outcome.messages, 0u);
  }
}

}  // namespace
}  // namespace musubi::sync
