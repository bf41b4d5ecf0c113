#include "fabric_suite.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/random.h"
#include "fabric/transfer.h"
#include "inbox.h"

namespace musubi::fabric::conformance {
namespace {

constexpr RegionId region0{0};

Task<> one_batch(Fabric& fabric, Rank peer, std::vector<Step> steps) {
  co_await transfer(fabric, peer, steps);
}

// Puts random bytes at every alignment and reads them back by get at another local alignment.
Task<> copy_everywhere(Fabric& fabric, Rank peer, std::byte* peer_memory, unsigned* failures) {
  Random random(7);
  std::vector<std::byte> source(5000), read_back(5000);
  const std::array<std::size_t, 18> sizes{0,  1,  2,  3,  7,  8,   9,   15,   16,
                                          17, 31, 63, 64, 65, 255, 256, 1000, 4096};
  for (const std::size_t bytes : sizes) {
    for (std::size_t remote_shift = 0; remote_shift < 9; ++remote_shift) {
      const std::size_t local_shift = random.below(16);
      const std::uint64_t offset = 4096 + remote_shift;
      for (auto& byte : source) byte = static_cast<std::byte>(random.next());
      std::fill(read_back.begin(), read_back.end(), std::byte{0x55});
      std::fill_n(peer_memory + offset - 16, bytes + 32, std::byte{0xaa});
      std::array<Step, 2> steps{put(region0, offset, source.data() + local_shift, bytes),
                                get(region0, offset, read_back.data() + 16 - local_shift, bytes)};
      co_await transfer(fabric, peer, steps);
      const std::byte* target = peer_memory + offset;
      const std::byte* result = read_back.data() + 16 - local_shift;
      if (!std::equal(target, target + bytes, source.data() + local_shift)) ++*failures;
      if (!std::equal(target, target + bytes, result)) ++*failures;
      if (target[-1] != std::byte{0xaa} || target[bytes] != std::byte{0xaa}) ++*failures;
      if (result[bytes] != std::byte{0x55}) ++*failures;
    }
  }
}

}  // namespace

TEST_P(FabricSuite, CopiesEverySizeAtEveryAlignment) {
  join(2);
  unsigned to_peer = 0;
  unsigned to_self = 0;
  run({{Rank{0}, [&] { return copy_everywhere(fabric(0), Rank{1}, memory(1), &to_peer); }}});
  run({{Rank{0}, [&] { return copy_everywhere(fabric(0), Rank{0}, memory(0), &to_self); }}});
  EXPECT_EQ(to_peer, 0u);
  EXPECT_EQ(to_self, 0u);
}

TEST_P(FabricSuite, MovesLargeBlocksAndTheLastByte) {
  join(2);
  std::vector<std::byte> source(region_bytes);
  std::vector<std::byte> result(region_bytes);
  Random random(3);
  for (auto& byte : source) byte = static_cast<std::byte>(random.next());
  run({{Rank{1}, [&] {
          return one_batch(
              fabric(1), Rank{0},
              {put(region, 0, source.data(), region_bytes), get(region, 0, result.data(), region_bytes)});
        }}});
  EXPECT_TRUE(std::equal(source.begin(), source.end(), memory(0)));
  EXPECT_EQ(source, result);
}

// Every word of an untouched region is zero, and can be written.
TEST_P(FabricSuite, UntouchedMemoryIsZeros) {
  join(2);
  std::array<std::uint64_t, 3> seen{1, 1, 1};
  const std::uint64_t value = 7;
  run({{Rank{1}, [&] {
          return one_batch(fabric(1), Rank{0},
                           {get(region, 0, &seen[0], 8), get(region, region_bytes - 8, &seen[1], 8),
                            put(region, 65536, &value, 8), get(region, 65536, &seen[2], 8)});
        }}});
  EXPECT_EQ(seen, (std::array<std::uint64_t, 3>{0, 0, 7}));
}

TEST_P(FabricSuite, CapabilitiesSayWhoIsNear) {
  constexpr std::uint32_t ranks = 5;
  join(ranks);
  const auto is_near = [&](std::uint32_t from, std::uint32_t to) {
    return fabric(from).capabilities(Rank{to}).local_pointer;
  };
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      std::byte* const address = fabric(a).direct(Rank{b}, region);
      EXPECT_EQ(address != nullptr, is_near(a, b)) << a << ' ' << b;
      EXPECT_EQ(is_near(a, b), is_near(b, a));
      for (std::uint32_t c = 0; c < ranks; ++c) {
        EXPECT_TRUE(!is_near(a, b) || !is_near(b, c) || is_near(a, c)) << a << ' ' << b << ' ' << c;
      }
      if (address == nullptr) continue;
      std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address + 8 * a)).store(100 * a + b + 1);
      EXPECT_EQ(std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory(b) + 8 * a)).load(), 100 * a + b + 1)
          << "the address is the peer's memory";
    }
  }
}

TEST_P(FabricSuite, AnEmptyBatchCompletes) {
  join(2);
  run({{Rank{0}, [&] { return one_batch(fabric(0), Rank{1}, {}); }}});
}

TEST_P(FabricSuite, RefusesWhatLiesOutsideTheRegion) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  join(2);
  std::uint64_t value = 0;
  Event completion;
  const auto attempt = [&](Step step) {
    fabric(0).post(Rank{1}, std::span<const Step>(&step, 1), completion);
  };
  EXPECT_DEATH(attempt(get(region, region_bytes - 7, &value, 8)), "internal error");
  EXPECT_DEATH(attempt(put(region, region_bytes + 1, &value, 0)), "internal error");
  EXPECT_DEATH(attempt(get(region, ~std::uint64_t{0} - 3, &value, 8)), "internal error");
  EXPECT_DEATH(attempt(get(RegionId{5}, 0, &value, 8)), "internal error");
  EXPECT_DEATH(attempt(fetch_add(region, 4, &value, 1)), "internal error");
}

TEST_P(FabricSuite, AtomicsReturnTheOldValue) {
  join(2);
  std::array<std::uint64_t, 5> old{};
  run({{Rank{0}, [&] {
          return one_batch(fabric(0), Rank{1},
                           {fetch_add(region, 64, &old[0], 5), swap(region, 64, &old[1], 9),
                            compare_swap(region, 64, &old[2], 8, 1), compare_swap(region, 64, &old[3], 9, 11),
                            get(region, 64, &old[4], 8)});
        }}});
  EXPECT_EQ(old, (std::array<std::uint64_t, 5>{0, 5, 9, 9, 11}));
  EXPECT_EQ(word(1, 64), 11u);
}

namespace {

// Adds to the first word by fetch_add, increments the second by compare_swap, and passes tokens through the
// third.
Task<> contend(Fabric& fabric, unsigned rounds, std::uint64_t* tokens) {
  for (unsigned i = 0; i < rounds; ++i) {
    std::uint64_t old = 0;
    std::array<Step, 1> add{fetch_add(region0, 0, &old, 3)};
    co_await transfer(fabric, Rank{0}, add);
    std::uint64_t expected = 0;
    for (;;) {
      std::array<Step, 1> increment{compare_swap(region0, 8, &old, expected, expected + 1)};
      co_await transfer(fabric, Rank{0}, increment);
      if (old == expected) break;
      expected = old;
    }
    std::array<Step, 1> exchange{swap(region0, 16, &old, *tokens)};
    co_await transfer(fabric, Rank{0}, exchange);
    *tokens = old;
  }
}

}  // namespace

TEST_P(FabricSuite, AtomicsAreExactUnderContention) {
  for (const std::uint32_t ranks : {2u, 4u}) {
    const unsigned rounds = 2000 * GetParam().repetitions;
    join(ranks);
    std::vector<std::uint64_t> tokens(ranks);
    std::vector<Actor> actors;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      tokens[rank] = rank + 1;
      actors.push_back({Rank{rank}, [this, rank, rounds, &tokens] {
                          return contend(fabric(rank), rounds, &tokens[rank]);
                        }});
    }
    run(std::move(actors));
    EXPECT_EQ(word(0, 0), 3u * rounds * ranks);
    EXPECT_EQ(word(0, 8), std::uint64_t{rounds} * ranks);
    // Swaps neither lose nor duplicate a token: the initial 0 and 1..ranks are all present.
    tokens.push_back(word(0, 16));
    std::sort(tokens.begin(), tokens.end());
    for (std::uint64_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i], i);
  }
}

namespace {

constexpr std::size_t record_words = 40;
constexpr std::uint64_t before_offset = 0, record_offset = 512, after_offset = 1024;

std::uint64_t halves(std::uint64_t number) {
  return number << 32 | number;
}

// Publishes version after version: mark, record, mark; every word has two equal halves.
Task<> write_versions(Fabric& fabric, Rank target, unsigned versions, bool* ended) {
  std::array<std::uint64_t, record_words> record{};
  for (std::uint64_t version = 1; version <= versions; ++version) {
    record.fill(halves(version));
    std::array<Step, 3> steps{put(region0, before_offset, record.data(), 8),
                              put(region0, record_offset, record.data(), sizeof record),
                              put(region0, after_offset, record.data(), 8)};
    co_await transfer(fabric, target, steps);
  }
  *ended = true;
}

// Reads in the opposite order: each later read must return a version at least as new as the previous one.
Task<> read_versions(Fabric& fabric, Rank target, unsigned reads, std::size_t local_shift,
                     unsigned* failures) {
  std::array<std::byte, record_words * 8 + 8> buffer{};
  for (unsigned i = 0; i < reads; ++i) {
    std::uint64_t after = 0, before = 0;
    std::array<Step, 3> steps{get(region0, after_offset, &after, 8),
                              get(region0, record_offset, buffer.data() + local_shift, record_words * 8),
                              get(region0, before_offset, &before, 8)};
    co_await transfer(fabric, target, steps);
    for (std::size_t w = 0; w < record_words; ++w) {
      std::uint64_t value = 0;
      std::memcpy(&value, buffer.data() + local_shift + w * 8, 8);
      if (value != halves(value & 0xffffffff)) ++*failures;  // torn
      if (value < after || value > before) ++*failures;      // out of order
    }
  }
}

}  // namespace

TEST_P(FabricSuite, StepsTakeEffectInOrderAndWordsAreNotTorn) {
  join(3);
  const unsigned rounds = 4000 * GetParam().repetitions;
  unsigned aligned_failures = 0, shifted_failures = 0;
  bool ended = false;
  run({{Rank{0}, [&] { return write_versions(fabric(0), Rank{2}, rounds, &ended); }},
       {Rank{1}, [&] { return read_versions(fabric(1), Rank{2}, rounds, 0, &aligned_failures); }},
       {Rank{2}, [&] { return read_versions(fabric(2), Rank{2}, rounds, 3, &shifted_failures); }}});
  EXPECT_TRUE(ended);
  EXPECT_EQ(aligned_failures, 0u);
  EXPECT_EQ(shifted_failures, 0u);
}

namespace {

Task<> write_halves(Fabric& fabric, Rank target, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    const std::uint32_t bits = i % 2 == 0 ? UINT32_MAX : 0;
    std::array<Step, 2> steps{put(region0, 8, &bits, 4), put(region0, 20, &bits, 4)};
    co_await transfer(fabric, target, steps);
  }
}

Task<> read_halves(Fabric& fabric, Rank target, unsigned reads, unsigned* torn) {
  std::array<std::uint32_t, 4> seen{};
  for (unsigned i = 0; i < reads; ++i) {
    std::array<Step, 1> steps{get(region0, 8, seen.data(), sizeof seen)};
    co_await transfer(fabric, target, steps);
    for (const std::uint32_t half : seen) *torn += half != 0 && half != UINT32_MAX;
  }
}

}  // namespace

TEST_P(FabricSuite, AlignedPartsOfWordsAreNotTorn) {
  join(3);
  const unsigned rounds = 4000 * GetParam().repetitions;
  unsigned torn = 0;
  run({{Rank{0}, [&] { return write_halves(fabric(0), Rank{2}, rounds); }},
       {Rank{1}, [&] { return read_halves(fabric(1), Rank{2}, rounds, &torn); }}});
  EXPECT_EQ(torn, 0u);
}

namespace {

// Sends `count` numbered messages to every other rank, with bodies of all sizes, then waits for the messages
// to itself.
Task<> chatter(Fabric& fabric, unsigned count, Inbox* inbox) {
  std::array<std::byte, message_bytes_max> body{};
  for (std::uint64_t number = 0; number < count; ++number) {
    std::memcpy(body.data(), &number, 8);
    const std::size_t bytes = 8 + number * 37 % (message_bytes_max - 7);
    for (std::size_t i = 8; i < bytes; ++i) body[i] = static_cast<std::byte>(number + i);
    for (std::uint32_t peer = 0; peer < fabric.ranks(); ++peer) {
      if (Rank{peer} == fabric.self()) continue;
      const Urgency urgency = number % 3 == 0 ? Urgency::promptly : Urgency::when_polled;
      co_await deliver(fabric, Rank{peer}, MessageKind::unassigned, urgency, std::span(body).first(bytes));
    }
  }
  co_await inbox->enough;
}

void expect_in_order(const Inbox& inbox, std::uint32_t ranks, unsigned count) {
  std::vector<std::uint64_t> next(ranks);
  for (const Received& message : inbox.received()) {
    const std::uint64_t number = message.number();
    ASSERT_EQ(number, next[message.from.value]) << "from rank " << message.from.value;
    ++next[message.from.value];
    ASSERT_EQ(message.body.size(), 8 + number * 37 % (message_bytes_max - 7));
    for (std::size_t i = 8; i < message.body.size(); ++i) {
      ASSERT_EQ(message.body[i], static_cast<std::byte>(number + i));
    }
  }
  EXPECT_EQ(inbox.received().size(), std::size_t{count} * (ranks - 1));
}

Task<> await_event(Event* event) {
  co_await *event;
}

Task<> send_number(Fabric& fabric, Rank peer, std::uint64_t number) {
  co_await deliver(fabric, peer, MessageKind::unassigned, Urgency::when_polled, bytes_of(number));
}

Task<> send_empty(Fabric& fabric, Rank peer) {
  co_await deliver(fabric, peer, MessageKind::unassigned, Urgency::promptly, {});
}

}  // namespace

TEST_P(FabricSuite, MessagesArriveOnceAndInOrder) {
  for (const std::uint32_t ranks : {2u, 3u}) {
    constexpr unsigned count = 1500;  // several times the capacity of a mailbox
    join(ranks);
    std::vector<std::unique_ptr<Inbox>> inboxes;
    std::vector<Actor> actors;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      inboxes.push_back(std::make_unique<Inbox>(std::size_t{count} * (ranks - 1)));
      fabric(rank).listen(MessageKind::unassigned, inboxes[rank].get());
      actors.push_back(
          {Rank{rank}, [this, rank, &inboxes] { return chatter(fabric(rank), count, inboxes[rank].get()); }});
    }
    run(std::move(actors));
    for (const auto& inbox : inboxes) expect_in_order(*inbox, ranks, count);
    world_.reset();
  }
}

TEST_P(FabricSuite, MessagesToSelfAndWithoutBody) {
  join(2);
  Inbox own(1), peer(1);
  fabric(0).listen(MessageKind::unassigned, &own);
  fabric(1).listen(MessageKind::unassigned, &peer);
  run({{Rank{0}, [&] { return send_number(fabric(0), Rank{0}, 42); }},
       {Rank{0}, [&] { return await_event(&own.enough); }},
       {Rank{0}, [&] { return send_empty(fabric(0), Rank{1}); }},
       {Rank{1}, [&] { return await_event(&peer.enough); }}});
  ASSERT_EQ(own.received().size(), 1u);
  EXPECT_EQ(own.received()[0].number(), 42u);
  EXPECT_EQ(own.received()[0].from, Rank{0});
  ASSERT_EQ(peer.received().size(), 1u);
  EXPECT_TRUE(peer.received()[0].body.empty());
  world_.reset();
}

namespace {

// At the target: each message must find the put that was complete before it was sent.
class Witness final : public Listener {
 public:
  Witness(const std::byte* word, unsigned rounds) : word_(word), rounds_(rounds) {}

  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    std::uint64_t told = 0;
    std::memcpy(&told, body.data(), 8);
    const auto& word = *reinterpret_cast<const std::atomic<std::uint64_t>*>(word_);
    if (word.load(std::memory_order_relaxed) < told) ++failures;
    if (told == rounds_) all_told.set();
    return nullptr;
  }

  unsigned failures = 0;
  Event all_told;

 private:
  const std::byte* word_;
  unsigned rounds_;
};

Task<> put_and_tell(Fabric& fabric, Rank target, unsigned rounds) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::array<Step, 1> steps{put(region0, 128, &round, 8)};
    co_await transfer(fabric, target, steps);
    co_await deliver(fabric, target, MessageKind::unassigned, Urgency::when_polled, bytes_of(round));
  }
}

}  // namespace

TEST_P(FabricSuite, ACompletePutIsVisibleAtTheTarget) {
  join(2);
  const unsigned rounds = 2000 * GetParam().repetitions;
  Witness witness(memory(1) + 128, rounds);
  fabric(1).listen(MessageKind::unassigned, &witness);
  run({{Rank{0}, [&] { return put_and_tell(fabric(0), Rank{1}, rounds); }},
       {Rank{1}, [&] { return await_event(&witness.all_told); }}});
  EXPECT_EQ(witness.failures, 0u);
  world_.reset();
}

}  // namespace musubi::fabric::conformance
