// Changes by a network to the bytes of sealed transports: each is found before any byte is used, and the
// sending rank is named. From a seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include "fabric/active_messages/engine.h"
#include "fabric/seal/sealed_transport.h"
#include "queue_transport.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::size_t region_words = 16'000;
constexpr std::size_t ample = std::size_t{1} << 24;
constexpr std::array<std::byte, 32> secret{std::byte{1}, std::byte{2}};
constexpr std::uint32_t ranks = 2;

class Watcher final : public PeerWatcher {
 public:
  void peer_failed(Rank, Loss loss) noexcept override {
    ++failures;
    kind = loss.kind;
  }
  unsigned failures = 0;
  Loss::Kind kind{};
};

// Each message repeats the number of messages before it.
class Inbox final : public Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    for (std::size_t i = 0; i + 8 <= body.size(); i += 8) {
      std::uint64_t number = 0;
      std::memcpy(&number, body.data() + i, 8);
      if (number != received) ++wrong;
    }
    ++received;
    return nullptr;
  }
  std::uint64_t received = 0;
  unsigned wrong = 0;
};

struct Member {
  Member(Transport& below, Cipher cipher) : transport(below, cipher, secret), memory(region_words) {
    const RegionMemory region{RegionId{0}, reinterpret_cast<std::byte*>(memory.data()), region_words * 8};
    engine.emplace(transport, std::span(&region, 1), counters, WaitingPolicy{}, &watcher);
    engine->listen(MessageKind::unassigned, &inbox);
  }
  SealedTransport transport;
  std::vector<std::uint64_t> memory;
  trace::Counters counters;
  Watcher watcher;
  Inbox inbox;
  std::optional<ActiveMessages> engine;
};

// Two ranks; rank 0 puts bytes that differ from word to word, gets them back, and sends messages.
class Pair {
 public:
  Pair(Cipher cipher, std::uint64_t seed) : network(ranks, ample, 3000, seed), random_(seed) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      members.push_back(std::make_unique<Member>(network.transport(Rank{rank}), cipher));
    }
  }
  QueuedLane& lane(unsigned number) {
    return network.lane(Rank{number / 2}, Rank{1 - number / 2}, static_cast<Lane>(number % 2));
  }
  bool has_failed() const { return members[0]->watcher.failures + members[1]->watcher.failures != 0; }
  unsigned wrong() const { return wrong_ + members[1]->inbox.wrong; }
  std::uint64_t turns() const { return turns_; }

  // A put, a get of the same bytes, and a message: to their ends, unless a peer is lost. `act` is called
  // between all steps of the ranks.
  void exchange(const std::function<void()>& act) {
    ++turns_;
    std::vector<std::uint64_t> words(1 + random_.below(random_.below(3) == 0 ? 12'000 : 60));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = turns_ << 32 | i;
    std::vector<std::uint64_t> back(words.size());
    const std::array steps{put(RegionId{0}, 0, words.data(), words.size() * 8),
                           get(RegionId{0}, 0, back.data(), back.size() * 8)};
    const std::vector<std::uint64_t> body(random_.below(200), members[1]->inbox.received);
    Event completion;
    ActiveMessages& engine = *members[0]->engine;
    (void)engine.post(Rank{1}, steps, completion);
    (void)engine.send(Rank{1}, MessageKind::unassigned, Urgency::promptly, std::as_bytes(std::span(body)));
    const std::uint64_t expected = members[1]->inbox.received + 1;
    unsigned idle = 0;
    while ((!completion.is_set() || members[1]->inbox.received < expected) && !has_failed() && idle < 50) {
      act();
      bool any = engine.progress();
      act();
      any = members[1]->engine->progress() || any;
      idle = any ? 0 : idle + 1;
    }
    if (completion.is_set() && back != words) ++wrong_;
  }

  QueueNetwork network;
  std::vector<std::unique_ptr<Member>> members;

 private:
  Random random_;
  std::uint64_t turns_ = 0;
  unsigned wrong_ = 0;
};

const Cipher ciphers[]{Cipher::none, LaneKeys::best_cipher(), Cipher::chacha20_poly1305};

// Result: whether the rank that received the bytes changed on `lane` has shut the other rank out, and no
// other.
void expect_found(Pair& pair, unsigned lane) {
  const unsigned sender = lane / 2;
  EXPECT_EQ(pair.wrong(), 0u);
  ASSERT_EQ(pair.members[1 - sender]->watcher.failures, 1u);
  EXPECT_EQ(pair.members[1 - sender]->watcher.kind, Loss::Kind::damaged);
  EXPECT_EQ(pair.members[sender]->watcher.failures, 0u);
}

class SealDamage : public testing::TestWithParam<unsigned> {};

TEST_P(SealDamage, EveryFlippedBitIsFound) {
  Random random(5);
  constexpr unsigned flips = 500;
  for (unsigned flip = 0; flip < flips; ++flip) {
    Pair pair(ciphers[GetParam()], flip);
    const unsigned lane = random.below(2) == 0 ? 0 : 3;  // requests of rank 0, replies of rank 1
    std::uint64_t left = random.below(20'000);           // bytes that pass before
    bool is_flipped = false;
    std::uint64_t seen = 0;
    const auto act = [&] {
      QueuedLane& bytes = pair.lane(lane);
      const std::uint64_t first = bytes.all_bytes - bytes.bytes.size();
      seen = std::max(seen, first);
      if (is_flipped || bytes.all_bytes <= left) return;
      const std::size_t at = left < first ? 0 : left - first;
      if (at >= bytes.bytes.size()) return;
      bytes.bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
      is_flipped = true;
    };
    while (!pair.has_failed() && pair.turns() < 3000) pair.exchange(act);
    ASSERT_TRUE(is_flipped);
    expect_found(pair, lane);
  }
}

// Whole records, each of which is valid by itself.
TEST_P(SealDamage, RecordsThatAreMissingRepeatedOrOfAnotherLaneAreFound) {
  enum Harm : unsigned { missing, repeated, swapped, of_another_lane, harms };
  for (unsigned harm = 0; harm < harms; ++harm) {
    Pair pair(ciphers[GetParam()], harm);
    pair.exchange([] {});
    ASSERT_FALSE(pair.has_failed());
    auto& requests = pair.lane(0).bytes;
    ASSERT_TRUE(requests.empty());
    const auto record = [&] {  // of the next message
      const std::uint64_t word = pair.members[1]->inbox.received + 100;
      (void)pair.members[0]->engine->send(Rank{1}, MessageKind::unassigned, Urgency::promptly,
                                          std::as_bytes(std::span(&word, 1)));
      return std::exchange(requests, {});
    };
    const auto first = record(), second = record();
    ASSERT_EQ(first.size(), second.size());
    ASSERT_NE(first, second);
    auto& lane =
        harm == of_another_lane ? pair.network.lane(Rank{0}, Rank{1}, Lane::replies).bytes : requests;
    const auto add = [&](const auto& bytes) { lane.insert(lane.end(), bytes.begin(), bytes.end()); };
    if (harm == repeated) add(first);
    if (harm == repeated || harm == of_another_lane) add(first);
    if (harm == swapped || harm == missing) add(second);
    if (harm == swapped) add(first);
    while (pair.members[1]->engine->progress()) {
    }
    EXPECT_EQ(pair.members[1]->watcher.failures, 1u) << harm;
    EXPECT_EQ(pair.members[1]->watcher.kind, Loss::Kind::damaged) << harm;
    EXPECT_LE(pair.members[1]->inbox.received, harm == repeated ? 2u : 1u) << harm;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SealDamage, testing::Values(0, 1, 2));

// Bytes on the wire can be read without a cipher, and not with one; the same bytes never look the same.
TEST(SealCipher, HidesWhatPasses) {
  for (const Cipher cipher : ciphers) {
    Pair pair(cipher, 1);
    const std::vector<std::byte> body(64, std::byte{0x42});
    std::vector<std::vector<std::byte>> seen;
    for (unsigned i = 0; i < 2; ++i) {
      (void)pair.members[0]->engine->send(Rank{1}, MessageKind::unassigned, Urgency::promptly, body);
      const auto bytes = std::exchange(pair.lane(0).bytes, {});
      const bool shows = std::search(bytes.begin(), bytes.end(), body.begin(), body.end()) != bytes.end();
      EXPECT_EQ(shows, cipher == Cipher::none);
      constexpr std::size_t frame_bytes = 16 + 64;  // a frame's header and its body: without head and tail
      const std::size_t tail = cipher == Cipher::none ? sizeof(std::uint32_t) : record_tail_max;
      const auto begin = bytes.end() - static_cast<std::ptrdiff_t>(tail + frame_bytes);
      seen.emplace_back(begin + 16, begin + frame_bytes);
    }
    EXPECT_EQ(seen[0] == seen[1], cipher == Cipher::none);
  }
}

// Another job's secret, and another lane's key.
TEST(SealCipher, AKeyIsOfOneLaneOfOneJob) {
  std::array<std::byte, 32> other = secret;
  other[31] ^= std::byte{1};
  const LaneKeys::Salt salt{}, other_salt{std::byte{1}};
  const LaneName lane{Rank{0}, Rank{1}, Lane::requests};
  const LaneKeys keys(Cipher::chacha20_poly1305, secret);
  const LaneKeys::Key key = keys.key_of(lane, salt);
  EXPECT_EQ(keys.key_of(lane, salt), key);
  EXPECT_NE(LaneKeys(Cipher::chacha20_poly1305, other).key_of(lane, salt), key);
  EXPECT_NE(LaneKeys(Cipher::aes256_gcm, secret).key_of(lane, salt), key);
  EXPECT_NE(keys.key_of(lane, other_salt), key);
  EXPECT_NE(keys.key_of({Rank{1}, Rank{0}, Lane::requests}, salt), key);
  EXPECT_NE(keys.key_of({Rank{0}, Rank{1}, Lane::replies}, salt), key);
  EXPECT_NE(keys.key_of({Rank{0}, Rank{2}, Lane::requests}, salt), key);
}

}  // namespace
}  // namespace musubi::fabric::conformance
