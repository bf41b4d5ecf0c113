// The active-message engine under the simulator's scheduler: several threads of each rank post, send, poll
// for arrivals and serve; each is stopped anywhere while other threads go on, and the network accepts and
// delivers bytes in any parts. All answers are compared, nothing stalls, and no peer is refused.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fabric/active_messages/engine.h"
#include "fabric/seal/sealed_transport.h"
#include "mixed_batches.h"
#include "scheduled_network.h"
#include "seeds.h"

namespace musubi::fabric {
namespace {

using conformance::MixedBatch;

constexpr RegionId region{0};
constexpr std::uint64_t patience = 1'000'000;  // events
constexpr std::uint64_t pause_ns = 100;

struct Shape {
  std::uint32_t ranks = 2, threads = 2;
  std::size_t slots = 1;  // batches that a thread has in flight to each peer
  std::size_t stretch_bytes = 512;
  unsigned rounds = 10;    // batches of a slot
  unsigned messages = 10;  // messages of a thread to each peer
  Outbox::Limits limits;
  NetworkBehaviour network;
  unsigned seal = 0;  // 0: none; then sums, and each cipher
};

// So many batches are deferred that a lane takes them in several sends, and so some of them in two parts;
// each send is accepted whole, and there are other threads to poll for the answers.
void crowd(Shape& shape) {
  shape.threads = 3;
  shape.slots = 48;
  shape.stretch_bytes = 512;
  shape.rounds = 3;
  shape.limits = {};
  shape.network.room = shape.network.part_max = 1'000'000;
  shape.network.short_sends = 0;
}

Shape draw_shape(Random& random) {
  const auto one_of = [&random](auto... values) {
    const std::size_t all[]{static_cast<std::size_t>(values)...};
    return all[random.below(sizeof...(values))];
  };
  Shape shape;
  shape.ranks = static_cast<std::uint32_t>(one_of(2, 2, 2, 3, 4));
  shape.threads = static_cast<std::uint32_t>(random.between(1, 3));
  shape.stretch_bytes = one_of(64, 512, 512, 2048, 2048, 70'000);
  shape.slots = shape.stretch_bytes <= 512 ? one_of(1, 3, 24) : one_of(1, 3);
  shape.rounds = static_cast<unsigned>(1 + (shape.stretch_bytes > 2048 ? 3 : 12) / shape.slots);
  shape.messages = static_cast<unsigned>(one_of(0, 3, 10));
  shape.limits.batches = one_of(4, 4096, 4096);
  shape.limits.batches_per_peer = one_of(2, 512, 512);
  shape.limits.messages = one_of(2, 16, 1024);
  shape.limits.messages_per_peer = one_of(1, 4, 128);
  shape.network.room = shape.stretch_bytes * one_of(1, 64, 64) + random.below(500);
  shape.network.part_max = shape.network.room / one_of(1, 1, 8);
  shape.network.short_sends = static_cast<unsigned>(one_of(0, 10, 60));
  shape.network.stopped_per_mille = static_cast<unsigned>(one_of(3, 30, 100));
  if (random.chance(40)) crowd(shape);
  shape.seal = static_cast<unsigned>(random.below(4));
  return shape;
}

struct Job;

// Messages from threads of a rank reach the peer in their order, each exactly once.
class Inbox final : public Listener {
 public:
  explicit Inbox(std::uint32_t threads_of_all) : next_(threads_of_all) {}
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    std::array<std::uint64_t, 2> head{};  // the thread of the job, and the number of its message
    if (body.size() < sizeof head) return ++wrong, nullptr;
    std::memcpy(head.data(), body.data(), sizeof head);
    if (head[0] >= next_.size() || head[1] != next_[head[0]]++) ++wrong;
    for (const std::byte byte : body.subspan(sizeof head))
      wrong += byte == static_cast<std::byte>(head[1]) ? 0 : 1;
    ++received;
    return nullptr;
  }
  unsigned wrong = 0;
  std::uint64_t received = 0;

 private:
  std::vector<std::uint64_t> next_;
};

class Losses final : public PeerWatcher {
 public:
  void peer_failed(Rank, Loss loss) noexcept override { reason = loss.reason; }
  std::string reason;
};

struct Member {
  Member(Job& job, Rank self);

  ScheduledTransport transport;
  std::unique_ptr<SealedTransport> sealed;  // null: the engine uses the transport directly
  std::vector<std::uint64_t> memory;
  trace::Counters counters;
  Losses losses;
  Inbox inbox;
  ActiveMessages engine;
};

// A thread of a rank. Each event is a turn of it, which may be stopped half-way.
class Player final : public sim::Occurrence {
 public:
  Player(Job& job, std::uint32_t number, Rank self, std::uint32_t thread);
  void occur(std::uint64_t) noexcept override;
  bool is_done() const;
  // Checks the bytes that have been returned, and those stored at the peers.
  unsigned wrong() const;

 private:
  struct Slot {
    Slot(Rank to, std::uint64_t offset, std::size_t bytes) : peer(to), batch(offset, bytes) {}
    Rank peer;
    MixedBatch batch;
    Event completion;
    bool is_drawn = false, is_posted = false;
    unsigned completed = 0;
  };
  struct Letters {
    Rank peer;
    std::uint64_t sent = 0;
  };

  void use(Slot& slot);
  void send(Letters& letters);
  void look_or_not();

  Job& job_;
  const std::uint32_t number_;
  Member& member_;
  std::deque<Slot> slots_;
  std::vector<Letters> letters_;
  bool looks_ = false;
  unsigned wrong_ = 0;
};

struct Job {
  Job(std::uint64_t seed, const Shape& drawn, InjectedBug bug)
      : shape(drawn), world(seed), network(world, shape.ranks, shape.network) {
    hooks.inject(bug);
    hooks.let_interrupt(&network.stops);
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
      members.push_back(std::make_unique<Member>(*this, Rank{rank}));
    }
    for (std::uint32_t i = 0; i < shape.ranks * shape.threads; ++i) {
      players.push_back(std::make_unique<Player>(*this, i, Rank{i % shape.ranks}, i / shape.ranks));
      world.after(i, *players.back(), 0);
    }
  }
  std::size_t region_bytes() const { return shape.ranks * shape.threads * shape.slots * shape.stretch_bytes; }
  bool is_done() const {
    return std::ranges::all_of(players, [](const auto& player) { return player->is_done(); }) &&
           std::ranges::all_of(members, [this](const auto& member) {
             return member->inbox.received ==
                    std::uint64_t{shape.messages} * shape.threads * (shape.ranks - 1);
           });
  }
  bool has_lost() const {
    return std::ranges::any_of(members, [](const auto& member) { return !member->losses.reason.empty(); });
  }
  // Result: the error; empty: none.
  std::string play() {
    const bool has_ended = world.run(patience);
    for (const auto& member : members) {
      if (!member->losses.reason.empty()) return member->losses.reason;
    }
    if (!has_ended || !is_done()) return "it stands still";
    unsigned wrong = 0;
    for (const auto& player : players) wrong += player->wrong();
    for (const auto& member : members)
      wrong += member->inbox.wrong + (member->transport.is_attended() ? 1 : 0);
    return wrong == 0 ? "" : std::to_string(wrong) + " answers or messages are wrong";
  }

  const Shape shape;
  sim::World world;
  ScheduledNetwork network;
  Hooks hooks;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::unique_ptr<Player>> players;
};

std::unique_ptr<SealedTransport> seal(Transport& below, unsigned kind) {
  constexpr std::array<std::byte, 32> secret{std::byte{4}};
  const Cipher ciphers[]{Cipher::none, LaneKeys::best_cipher(), Cipher::chacha20_poly1305};
  return kind == 0 ? nullptr : std::make_unique<SealedTransport>(below, ciphers[kind - 1], secret);
}

Member::Member(Job& job, Rank self)
    : transport(job.network, self),
      sealed(seal(transport, job.shape.seal)),
      memory(job.region_bytes() / 8),
      inbox(job.shape.ranks * job.shape.threads),
      engine(
          sealed != nullptr ? static_cast<Transport&>(*sealed) : transport,
          std::array{RegionMemory{region, reinterpret_cast<std::byte*>(memory.data()), job.region_bytes()}},
          counters, WaitingPolicy{}, &losses, job.shape.limits, {}, job.hooks) {
  engine.listen(MessageKind::unassigned, &inbox);
  engine.offer(conformance::exchanging, {&conformance::exchange_bytes, nullptr});
}

Player::Player(Job& job, std::uint32_t number, Rank self, std::uint32_t thread)
    : Occurrence(number), job_(job), number_(number), member_(*job.members[self.value]) {
  const Shape& shape = job.shape;
  for (std::uint32_t peer = 0; peer < shape.ranks; ++peer) {
    if (Rank{peer} == self) continue;
    letters_.push_back({Rank{peer}});
    for (std::size_t slot = 0; slot < shape.slots; ++slot) {
      const std::size_t stretch = (self.value * shape.threads + thread) * shape.slots + slot;
      slots_.emplace_back(Rank{peer}, stretch * shape.stretch_bytes, shape.stretch_bytes);
    }
  }
}

bool Player::is_done() const {
  return std::ranges::all_of(slots_, [this](const Slot& s) { return s.completed == job_.shape.rounds; }) &&
         std::ranges::all_of(letters_, [this](const Letters& l) { return l.sent == job_.shape.messages; });
}

unsigned Player::wrong() const {
  unsigned wrong = wrong_;
  for (const Slot& slot : slots_) {
    const auto* const memory =
        reinterpret_cast<const std::byte*>(job_.members[slot.peer.value]->memory.data());
    wrong += slot.batch.is_in(memory) ? 0 : 1;
  }
  return wrong;
}

void Player::occur(std::uint64_t) noexcept {
  Random& random = job_.world.random();
  const bool is_done = this->is_done();
  if (!is_done && random.chance(70)) {
    for (Slot& slot : slots_) use(slot);
  }
  if (random.chance(40)) send(letters_[random.below(letters_.size())]);
  if (random.chance(20) || (is_done && looks_)) look_or_not();
  member_.engine.progress();
  if (!job_.has_lost() && (!job_.is_done() || looks_))
    job_.world.after(random.between(1, pause_ns), *this, 0);
}

void Player::use(Slot& slot) {
  Random& random = job_.world.random();
  if (slot.is_posted && slot.completion.is_set()) {
    wrong_ += slot.batch.wrong();
    slot.is_posted = slot.is_drawn = false;
    slot.completion.reset();
    ++slot.completed;
  }
  if (slot.is_posted || slot.completed == job_.shape.rounds || random.chance(30)) return;
  if (!slot.is_drawn) slot.batch.draw(random);
  slot.is_drawn = true;
  slot.is_posted = member_.engine.post(slot.peer, slot.batch.steps(), slot.completion) == Outcome::pending;
}

void Player::send(Letters& letters) {
  if (letters.sent == job_.shape.messages) return;
  std::array<std::byte, message_bytes_max> body;
  body.fill(static_cast<std::byte>(letters.sent));
  const std::array<std::uint64_t, 2> head{number_, letters.sent};
  std::memcpy(body.data(), head.data(), sizeof head);
  const std::size_t bytes =
      job_.world.random().between(sizeof head, job_.world.random().chance(20) ? body.size() : 40);
  const Outcome outcome = member_.engine.send(letters.peer, MessageKind::unassigned, Urgency::promptly,
                                              std::span(body).first(bytes));
  if (outcome == Outcome::done) ++letters.sent;
}

void Player::look_or_not() {
  looks_ = !looks_;
  looks_ ? member_.engine.begin_polling() : member_.engine.end_polling();
}

std::unique_ptr<Job> draw_job(Random& random, InjectedBug bug = InjectedBug::none) {
  const Shape shape = draw_shape(random);
  return std::make_unique<Job>(random.next(), shape, bug);
}

TEST(EngineProperty, EveryAnswerIsRightHoweverThreadsAreStopped) {
  std::uint64_t stopped = 0, short_sends = 0;
  const unsigned programs = property::programs(2000);
  property::for_all(programs, [&](Random& random) {
    const std::unique_ptr<Job> job = draw_job(random);
    ASSERT_EQ(job->play(), "");
    const auto mark = job->world.marks().find("world.interrupted");
    stopped += mark == job->world.marks().end() ? 0 : mark->second;
    short_sends += job->network.short_sends;
  });
  if (std::getenv("MUSUBI_TEST_SEED") != nullptr) return;
  EXPECT_GT(stopped, 100 * programs);
  EXPECT_GT(short_sends, 10 * programs);
}

TEST(EngineProperty, ASeedRepeatsItsRun) {
  property::for_all(20, [](Random& random) {
    const std::uint64_t seed = random.next();
    std::array<std::uint64_t, 2> hashes{};
    for (std::uint64_t& hash : hashes) {
      Random again(seed);
      const std::unique_ptr<Job> job = draw_job(again);
      job->play();
      hash = job->world.hash();
    }
    ASSERT_EQ(hashes[0], hashes[1]);
  });
}

class EngineBug : public testing::TestWithParam<InjectedBug> {};

TEST_P(EngineBug, IsFound) {
  constexpr std::uint64_t programs = 200;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    Random random(seed);
    const std::string objection = draw_job(random, GetParam())->play();
    if (objection.empty()) continue;
    EXPECT_EQ(objection, "it answers what was not asked") << "seed " << seed;
    return;
  }
  FAIL() << "not found in " << programs << " programs";
}

INSTANTIATE_TEST_SUITE_P(Bugs, EngineBug, testing::Values(InjectedBug::answered_as_a_whole),
                         [](const auto& bug) { return std::string(name_of(bug.param)); });

}  // namespace
}  // namespace musubi::fabric
