// The active-message engine over queues in memory: the number of sends, memory use, and floods.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "fabric/active_messages/engine.h"
#include "fabric/active_messages/wire.h"
#include "queue_transport.h"

namespace {

std::uint64_t allocations = 0;

}  // namespace

// Counts the engine's allocations; the tests have one thread.
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace musubi::fabric::conformance {
namespace {

constexpr RegionId region{0};
constexpr std::size_t region_bytes = std::size_t{1} << 20;
constexpr std::size_t ample = std::size_t{1} << 30;
constexpr std::size_t header_bytes = sizeof(wire::FrameHeader);

class CountingListener final : public Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    ++messages;
    bytes += body.size();
    return nullptr;
  }
  std::uint64_t messages = 0, bytes = 0;
};

// Two ranks.
class Engine : public ::testing::Test {
 protected:
  void open(std::size_t room, std::size_t part_max = 0, std::uint64_t seed = 1) {
    network_ = std::make_unique<QueueNetwork>(2, room, part_max, seed);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      memory_[rank].assign(region_bytes / 8, 0);
      const RegionMemory memory{region, bytes_of(rank), region_bytes};
      engines_[rank] = std::make_unique<ActiveMessages>(network_->transport(Rank{rank}),
                                                        std::span(&memory, 1), counters_, WaitingPolicy{});
      engines_[rank]->listen(MessageKind::unassigned, &listeners_[rank]);
    }
  }
  std::byte* bytes_of(std::uint32_t rank) { return reinterpret_cast<std::byte*>(memory_[rank].data()); }
  ActiveMessages& engine(std::uint32_t rank) { return *engines_[rank]; }
  QueuedLane& requests() { return network_->lane(Rank{0}, Rank{1}, Lane::requests); }
  QueuedLane& replies() { return network_->lane(Rank{1}, Rank{0}, Lane::replies); }
  void settle() {
    for (bool any = true; any;) {
      any = engine(0).progress();
      any = engine(1).progress() || any;
    }
  }

  std::unique_ptr<QueueNetwork> network_;
  std::vector<std::uint64_t> memory_[2];
  trace::Counters counters_;
  CountingListener listeners_[2];
  std::unique_ptr<ActiveMessages> engines_[2];
};

TEST_F(Engine, ABatchIsOneRequestAndOneReply) {
  open(ample);
  std::vector<std::uint64_t> block(4096, 7), fetched(4096);
  std::uint64_t old = 0;
  const Step steps[]{get(region, 0, fetched.data(), 32768), put(region, 32768, block.data(), 32768),
                     compare_swap(region, 8, &old, 0, 5), fetch_add(region, 8, &old, 1),
                     get(region, 8, fetched.data(), 8)};
  Event completion;
  ASSERT_EQ(engine(0).post(Rank{1}, steps, completion), Outcome::pending);
  settle();
  ASSERT_TRUE(completion.is_set());
  EXPECT_EQ(old, 5u);
  EXPECT_EQ(fetched[0], 6u);
  EXPECT_EQ(memory_[1][32768 / 8 + 4095], 7u);
  EXPECT_EQ(requests().sends, 1u);
  EXPECT_EQ(replies().sends, 1u);
  EXPECT_EQ(requests().all_bytes, header_bytes + 3 * 16 + 32 + 24 + 32768);
  EXPECT_EQ(replies().all_bytes, 32768 + 8 + 8 + 8 + header_bytes);
}

TEST_F(Engine, RequestsPostedMeanwhileLeaveTogether) {
  open(ample);
  constexpr unsigned count = 64;
  std::vector<std::uint64_t> results(count);
  std::vector<Step> steps;
  for (unsigned i = 0; i < count; ++i) steps.push_back(get(region, 8 * i, &results[i], 8));
  std::vector<Event> completions(count);
  for (unsigned i = 0; i < count; ++i) {
    ASSERT_EQ(engine(0).post(Rank{1}, {&steps[i], 1}, completions[i]), Outcome::pending);
    memory_[1][i] = 100 + i;
  }
  EXPECT_EQ(requests().sends, 1u) << "the first leaves at once";
  settle();
  EXPECT_EQ(requests().sends, 2u) << "the rest is sent together";
  EXPECT_LE(replies().sends, 2u);
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_TRUE(completions[i].is_set());
    EXPECT_EQ(results[i], 100 + i);
  }
}

TEST_F(Engine, AMessageLeavesAtOnceWithWhatWasPutOff) {
  open(ample);
  std::uint64_t result = 0;
  const Step step = get(region, 0, &result, 8);
  Event first, second;
  engine(0).post(Rank{1}, {&step, 1}, first);
  engine(0).post(Rank{1}, {&step, 1}, second);
  EXPECT_EQ(engine(0).send(Rank{1}, MessageKind::unassigned, Urgency::when_polled, {}), Outcome::done);
  EXPECT_EQ(requests().sends, 2u);
  engine(1).progress();
  EXPECT_EQ(listeners_[1].messages, 1u);
  settle();
  EXPECT_TRUE(first.is_set() && second.is_set());
}

// The peer does nothing. The accepted steps are bounded, and take no memory of the heap.
TEST_F(Engine, BackPressureIsBusyAndMemoryDoesNotGrow) {
  open(4096);
  const Outbox::Limits limits;
  std::vector<std::byte> block(256), body(message_bytes_max);
  const Step step = put(region, 0, block.data(), block.size());
  std::vector<Event> completions(limits.batches);
  std::uint64_t batches = 0, messages = 0;
  const std::uint64_t allocated_before = allocations, network_before = requests().all_bytes;
  while (engine(0).post(Rank{1}, {&step, 1}, completions[batches]) != Outcome::busy) ++batches;
  while (engine(0).send(Rank{1}, MessageKind::unassigned, Urgency::promptly, body) != Outcome::busy)
    ++messages;
  for (unsigned i = 0; i < 10000; ++i) {
    ASSERT_EQ(engine(0).post(Rank{1}, {&step, 1}, completions[batches]), Outcome::busy);
    ASSERT_EQ(engine(0).send(Rank{1}, MessageKind::unassigned, Urgency::promptly, body), Outcome::busy);
    engine(0).progress();
  }
  EXPECT_EQ(batches, limits.batches_per_peer);
  EXPECT_EQ(messages, limits.messages_per_peer);
  EXPECT_LE(requests().all_bytes - network_before, 4096u);
  EXPECT_LT(allocations - allocated_before, 64u) << "the queues of the test may grow to 4 KiB";
  settle();
  for (std::uint64_t i = 0; i < batches; ++i) ASSERT_TRUE(completions[i].is_set());
  EXPECT_EQ(listeners_[1].messages, messages);
  EXPECT_NE(engine(0).post(Rank{1}, {&step, 1}, completions[batches]), Outcome::busy);
  settle();
}

TEST_F(Engine, APeersFullLaneLeavesOthersAlone) {
  network_ = std::make_unique<QueueNetwork>(3, 4096, 0, 1);
  std::vector<std::uint64_t> memory(region_bytes / 8);
  const RegionMemory attached{region, reinterpret_cast<std::byte*>(memory.data()), region_bytes};
  std::vector<std::unique_ptr<ActiveMessages>> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(std::make_unique<ActiveMessages>(network_->transport(Rank{rank}), std::span(&attached, 1),
                                                     counters_, WaitingPolicy{}));
    ranks[rank]->listen(MessageKind::unassigned, &listeners_[0]);
  }
  const std::vector<std::byte> body(message_bytes_max);
  while (ranks[0]->send(Rank{1}, MessageKind::unassigned, Urgency::promptly, body) != Outcome::busy) {
  }
  ASSERT_EQ(ranks[0]->send(Rank{2}, MessageKind::unassigned, Urgency::promptly, body), Outcome::done);
  ranks[2]->progress();
  EXPECT_EQ(listeners_[0].messages, 1u);
}

// The bytes of a put arrive in parts of any size, and no aligned word of the target is ever torn.
TEST_F(Engine, WordsOfAPutThatComesInPartsStayWhole) {
  open(ample, 11);
  constexpr std::uint64_t fresh = ~std::uint64_t{0};
  constexpr std::size_t bytes = 4001;
  const std::vector<std::uint64_t> source(bytes / 8 + 1, fresh);
  for (std::uint64_t offset = 0; offset < 8; ++offset) {
    std::fill(memory_[1].begin(), memory_[1].end(), 0);
    const Step step = put(region, offset, source.data(), bytes);
    Event completion;
    engine(0).post(Rank{1}, {&step, 1}, completion);
    const std::size_t first_whole = (offset + 7) / 8, end_whole = (offset + bytes) / 8;
    unsigned partly = 0;
    while (engine(1).progress()) {
      std::size_t words = 0;
      for (std::size_t i = first_whole; i < end_whole; ++i) {
        ASSERT_TRUE(memory_[1][i] == 0 || memory_[1][i] == fresh) << "offset " << offset << " word " << i;
        words += memory_[1][i] == fresh;
      }
      if (words != 0 && words != end_whole - first_whole) ++partly;
    }
    EXPECT_GT(partly, 50u) << "the put came in parts";
    settle();
    EXPECT_TRUE(completion.is_set());
  }
}

// The bytes of a get are sent in parts, as the lane accepts them, while words change.
TEST_F(Engine, WordsOfAGetThatLeavesInPartsStayWhole) {
  constexpr std::size_t bytes = 500'001;
  for (std::uint64_t offset = 0; offset < 8; ++offset) {
    open(1009);
    std::vector<std::byte> result(bytes);
    const Step step = get(region, offset, result.data(), bytes);
    Event completion;
    engine(0).post(Rank{1}, {&step, 1}, completion);
    for (std::uint64_t turn = 1; !completion.is_set(); ++turn) {
      engine(1).progress();
      std::fill(memory_[1].begin(), memory_[1].end(), turn % 251 * 0x0101'0101'0101'0101u);
      engine(0).progress();
    }
    const std::size_t skipped = (8 - offset) % 8;
    std::size_t changes = 0;
    for (std::size_t at = skipped; at + 8 <= bytes; at += 8) {
      ASSERT_TRUE(std::all_of(&result[at], &result[at] + 8, [&](std::byte b) { return b == result[at]; }))
          << "offset " << offset << " byte " << at;
      changes += at != skipped && result[at] != result[at - 1] ? 1 : 0;
    }
    EXPECT_GT(changes, 4u) << "the get left in parts";
  }
}

// Steps after a get that cannot be sent at once have to wait for it.
TEST_F(Engine, LaterStepsOfABatchWaitForALargeGet) {
  open(1009);
  std::vector<std::uint64_t> block(60'000);
  std::uint64_t old = 0;
  const Step steps[]{get(region, 0, block.data(), block.size() * 8), fetch_add(region, 0, &old, 1)};
  Event completion;
  engine(0).post(Rank{1}, steps, completion);
  engine(1).progress();
  engine(1).progress();
  EXPECT_EQ(memory_[1][0], 0u);
  settle();
  EXPECT_TRUE(completion.is_set());
  EXPECT_EQ(memory_[1][0], 1u);
}

// Answers each message with one of its own, until the fabric is busy: it never waits.
class Answering final : public Listener {
 public:
  explicit Answering(Fabric& fabric) : fabric_(fabric) {}
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override {
    ++received;
    if (fabric_.send(from, MessageKind::unassigned, Urgency::promptly, body) == Outcome::busy) ++refused;
    return nullptr;
  }
  std::uint64_t received = 0, refused = 0;

 private:
  Fabric& fabric_;
};

// Large gets, large puts and messages in both directions over narrow lanes.
class Flood {
 public:
  static constexpr std::size_t block_bytes = 100'000;
  static constexpr unsigned window = 8;

  Flood(ActiveMessages& engine, Rank peer, const std::byte* peer_memory)
      : engine_(engine), peer_(peer), peer_memory_(peer_memory), listener(engine) {
    engine.listen(MessageKind::unassigned, &listener);
    for (unsigned i = 0; i < window; ++i) fetched_[i].resize(block_bytes), written_[i].resize(block_bytes);
  }

  // Checks the completed batches and posts again. Odd offsets: words of the region are split everywhere.
  void turn(std::uint64_t round) {
    for (unsigned i = 0; i < window; ++i) {
      if (posted_[i] && !completions_[i].is_set()) continue;
      if (posted_[i]) check(i);
      posted_[i] = false;
      completions_[i].reset();
      std::fill(written_[i].begin(), written_[i].end(), static_cast<std::byte>(round + i));
      const std::uint64_t offset = offset_of(i);
      steps_[i] = {put(region, offset, written_[i].data(), block_bytes),
                   get(region, offset, fetched_[i].data(), block_bytes)};
      posted_[i] = engine_.post(peer_, steps_[i], completions_[i]) == Outcome::pending;
    }
    std::array<std::byte, 1000> body{};
    std::memcpy(body.data(), &round, 8);
    engine_.send(peer_, MessageKind::unassigned, Urgency::when_polled, body);
  }
  void finish() {
    for (unsigned i = 0; i < window; ++i) {
      if (!posted_[i]) continue;
      EXPECT_TRUE(completions_[i].is_set());
      check(i);
    }
  }

 private:
  static std::uint64_t offset_of(unsigned i) { return i * (block_bytes + 1) + 1; }
  void check(unsigned i) {
    ++completed;
    if (fetched_[i] != written_[i]) ++wrong;
    if (!std::equal(written_[i].begin(), written_[i].end(), peer_memory_ + offset_of(i))) ++wrong;
  }

  ActiveMessages& engine_;
  const Rank peer_;
  const std::byte* const peer_memory_;
  std::array<std::array<Step, 2>, window> steps_;
  std::array<Event, window> completions_;
  std::array<bool, window> posted_{};
  std::array<std::vector<std::byte>, window> fetched_, written_;

 public:
  Answering listener;
  std::uint64_t completed = 0, wrong = 0;
};

TEST_F(Engine, FloodsInBothDirectionsMakeProgress) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    open(64 + random.below(8000), 1 + random.below(20'000), seed);
    std::vector<std::unique_ptr<Flood>> floods;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      floods.push_back(std::make_unique<Flood>(engine(rank), Rank{1 - rank}, bytes_of(1 - rank)));
    }
    constexpr std::uint64_t enough = 40;
    for (std::uint64_t round = 0; floods[0]->completed < enough || floods[1]->completed < enough; ++round) {
      ASSERT_LT(round, 2'000'000u) << "seed " << seed << ": the flood stands still";
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        floods[rank]->turn(round);
        if (random.below(3) != 0) engine(rank).progress();
      }
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      engine(rank).listen(MessageKind::unassigned, &listeners_[rank]);
    settle();
    for (const auto& flood : floods) {
      flood->finish();
      EXPECT_EQ(flood->wrong, 0u) << "seed " << seed;
      EXPECT_GT(flood->listener.received, 0u);
    }
  }
}

}  // namespace
}  // namespace musubi::fabric::conformance
