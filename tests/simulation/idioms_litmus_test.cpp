// Idioms of programs that synchronise by atomic operations, with plain data: locks made of one or two words,
// the last reference to an object, a queue whose places are claimed, and two threads that each change a word
// and then look at the other's. All threads wait by operations or by loads, while the background polls.
#include <array>
#include <utility>

#include "stage.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 120
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;
constexpr std::uint64_t blocks = 6, word_count = 16;

// One operation on a word of 8 bytes. Described ones may be done at the block's home.
class Operate final : public coherence::Modification {
 public:
  Operate(std::size_t index, AtomicOperation what, bool described, bool relaxed) : what_(what) {
    orders_nothing = relaxed;
    offset = index * sizeof(std::uint64_t);
    bytes = sizeof(std::uint64_t);
    if (described) operation = &what_;
  }
  void apply(std::byte* block) noexcept override { found_ = modify_in_place(block + offset, what_); }
  void found(AtomicValue old) noexcept override { found_ = old; }
  std::uint64_t before() const { return static_cast<std::uint64_t>(found_); }

 private:
  AtomicOperation what_;
  AtomicValue found_ = 0;
};

struct Place {
  std::uint64_t block;
  std::size_t index;
};

struct Shape {
  std::uint32_t nodes;
  std::uint32_t threads;  // of all nodes
  InjectedBug bug = InjectedBug::none;
  bool relaxed = false;     // the operations order nothing, which is too little for an idiom
  std::uint64_t times = 1;  // the number of worlds, in multiples
};

// A scenario: a number of threads, each of which runs take_part() once.
class Idiom {
 public:
  Idiom(Stage& stage, Random& random, const Shape& shape)
      : stage_(stage), shape_(shape), described_(random.chance(75)), at_work_(shape.threads) {
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = {random.below(blocks), i};
  }
  virtual ~Idiom() = default;
  Idiom(const Idiom&) = delete;

  void start() {
    for (std::uint32_t i = 0; i < threads(); ++i) stage_.play(i % stage_.cluster().size(), run(i));
    stage_.play_on_all([this](Node& node) { return work_in_background(node); });
  }
  unsigned failures() const { return failures_; }

 protected:
  virtual Task<> take_part(Node& node, std::uint32_t thread) = 0;

  std::uint32_t threads() const { return shape_.threads; }
  void fail_unless(bool holds) { failures_ += holds ? 0 : 1; }
  // No two places share a word; they may share a block.
  Task<std::uint64_t> read(Node& node, std::size_t place) {
    return load(node, places_[place].block, places_[place].index);
  }
  Task<> write(Node& node, std::size_t place, std::uint64_t value) {
    return store(node, places_[place].block, value, places_[place].index);
  }
  // Result: the value before.
  Task<std::uint64_t> operate(Node& node, std::size_t place, AtomicOperation what) {
    Operate operation(places_[place].index, what, described_, shape_.relaxed);
    co_await node.modify(BlockId{places_[place].block}, operation);
    co_return operation.before();
  }
  Task<std::uint64_t> add(Node& node, std::size_t place, std::uint64_t amount) {
    return operate(node, place, {AtomicOperation::Kind::add, sizeof amount, amount});
  }
  Task<std::uint64_t> exchange(Node& node, std::size_t place, std::uint64_t value) {
    return operate(node, place, {AtomicOperation::Kind::exchange, sizeof value, value});
  }
  Task<std::uint64_t> compare_exchange(Node& node, std::size_t place, std::uint64_t old, std::uint64_t next) {
    return operate(node, place, {AtomicOperation::Kind::compare_exchange, sizeof next, next, old});
  }
  fabric::sim::Think think() { return idle(stage_, 3000); }
  fabric::sim::Think pause() {
    return idle(stage_, 2000 + 4 * stage_.cluster().configuration().model.latency_ns);
  }

 private:
  Task<> run(std::uint32_t thread) {
    co_await think();
    co_await take_part(stage_.node(thread % stage_.cluster().size()), thread);
    --at_work_;
  }
  Task<> work_in_background(Node& node) {
    while (at_work_ != 0) {
      (void)co_await node.background().answer();
      if (stage_.cluster().world().random().chance(30)) (void)co_await node.background().poll();
      co_await pause();
    }
  }

  Stage& stage_;
  const Shape shape_;
  const bool described_;
  std::size_t at_work_;
  unsigned failures_ = 0;
  std::array<Place, word_count> places_;
};

// A count that the lock protects, by plain loads and stores; the last thread has seen all of them.
class LockedCount : public Idiom {
 public:
  using Idiom::Idiom;

 private:
  static constexpr std::uint64_t rounds = 3;
  static constexpr std::size_t count = 8, seen = 9;

  virtual Task<> lock(Node& node) = 0;
  virtual Task<> unlock(Node& node) = 0;
  Task<> take_part(Node& node, std::uint32_t) override {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      co_await lock(node);
      const std::uint64_t before = co_await read(node, count);
      co_await think();
      co_await write(node, count, before + 1);
      co_await unlock(node);
      co_await think();
    }
    const std::uint64_t done = co_await add(node, seen, 1);
    if (done + 1 != threads()) co_return;
    co_await lock(node);
    const std::uint64_t all = co_await read(node, count);
    fail_unless(all == rounds * threads());
    co_await unlock(node);
  }
};

class ExchangeLock final : public LockedCount {
  using LockedCount::LockedCount;
  Task<> lock(Node& node) override {
    for (;;) {
      const std::uint64_t before = co_await exchange(node, 0, 1);
      if (before == 0) co_return;
      co_await pause();
    }
  }
  Task<> unlock(Node& node) override { (void)co_await exchange(node, 0, 0); }
};

// Freed by a plain store.
class CompareLock final : public LockedCount {
  using LockedCount::LockedCount;
  Task<> lock(Node& node) override {
    for (;;) {
      const std::uint64_t before = co_await compare_exchange(node, 0, 0, 1);
      if (before == 0) co_return;
      co_await pause();
    }
  }
  Task<> unlock(Node& node) override { return write(node, 0, 0); }
};

// Threads wait by loads; an addition whose result is not used calls the next one.
class TicketLock final : public LockedCount {
  using LockedCount::LockedCount;
  Task<> lock(Node& node) override {
    const std::uint64_t ticket = co_await add(node, 0, 1);
    for (;;) {
      const std::uint64_t serving = co_await read(node, 1);
      if (serving == ticket) co_return;
      co_await pause();
    }
  }
  Task<> unlock(Node& node) override { (void)co_await add(node, 1, 1); }
};

// The thread that drops the last reference finds the writes of all others.
class LastReference final : public Idiom {
  using Idiom::Idiom;
  Task<> take_part(Node& node, std::uint32_t thread) override {
    co_await write(node, 1 + thread, thread + 1);
    const std::uint64_t before = co_await add(node, 0, 1);
    if (before + 1 != threads()) co_return;
    for (std::uint32_t other = 0; other < threads(); ++other) {
      const std::uint64_t data = co_await read(node, 1 + other);
      fail_unless(data == other + 1);
    }
  }
};

// Each thread adds an entry, publishes it, and claims one that no other thread gets.
class ClaimedEntries final : public Idiom {
  using Idiom::Idiom;
  static constexpr std::size_t tail = 0, head = 1, published = 2, entries = 3, sum = 12, done = 13;
  Task<> take_part(Node& node, std::uint32_t thread) override {
    const std::uint64_t mine = co_await add(node, tail, 1);
    co_await write(node, entries + mine, thread + 1);
    for (;;) {
      const std::uint64_t before = co_await compare_exchange(node, published, mine, mine + 1);
      if (before == mine) break;
      co_await pause();
    }
    const std::uint64_t place = co_await add(node, head, 1);
    for (;;) {
      const std::uint64_t known = co_await read(node, published);
      if (known > place) break;
      co_await pause();
    }
    const std::uint64_t entry = co_await read(node, entries + place);
    fail_unless(entry != 0);
    (void)co_await add(node, sum, entry);
    const std::uint64_t before = co_await add(node, done, 1);
    if (before + 1 != threads()) co_return;
    const std::uint64_t all = co_await add(node, sum, 0);
    fail_unless(all == std::uint64_t{threads()} * (threads() + 1) / 2);
  }
};

// Dekker: each thread changes its word and looks at that of the next. Not all of them find nothing.
class LookAtNext final : public Idiom {
  using Idiom::Idiom;
  std::uint32_t finding_nothing_ = 0, ended_ = 0;
  Task<> take_part(Node& node, std::uint32_t thread) override {
    (void)co_await read(node, (thread + 1) % threads());
    co_await think();
    (void)co_await add(node, thread, 1);
    const std::uint64_t found = co_await read(node, (thread + 1) % threads());
    finding_nothing_ += found == 0 ? 1 : 0;
    if (++ended_ == threads()) fail_unless(finding_nothing_ != threads());
  }
};

// Result: the number of worlds that went wrong; where some must, at most 1.
template <class Scenario>
unsigned wrong_worlds(const Shape& shape) {
  const bool must_fail = shape.relaxed || shape.bug != InjectedBug::none;
  unsigned wrong = 0;
  for (std::uint64_t seed = 1; seed <= shape.times * worlds; ++seed) {
    Configuration configuration = hostile(seed, shape.nodes);
    configuration.threads = shape.threads / shape.nodes;
    configuration.plain_flags = 1;
    configuration.background = 1;
    configuration.bug = shape.bug;
    Random random(seed);
    Stage stage(configuration, blocks, word_count * sizeof(std::uint64_t));
    Scenario scenario(stage, random, shape);
    scenario.start();
    stage.finish(20'000'000);
    if (testing::Test::HasFatalFailure()) break;
    if (scenario.failures() != 0) ++wrong;
    if (wrong != 0 && must_fail) break;
  }
  return wrong;
}

template <class Scenario>
class IdiomsLitmus : public testing::Test {};
using Idioms =
    testing::Types<ExchangeLock, CompareLock, TicketLock, LastReference, ClaimedEntries, LookAtNext>;
TYPED_TEST_SUITE(IdiomsLitmus, Idioms);

TYPED_TEST(IdiomsLitmus, HoldsInAllWorlds) {
  for (const auto& [nodes, threads] : {std::pair{2u, 2u}, {3u, 3u}, {2u, 4u}, {3u, 6u}}) {
    EXPECT_EQ(wrong_worlds<TypeParam>({.nodes = nodes, .threads = threads}), 0u)
        << threads << " threads on " << nodes << " nodes";
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Each idiom needs operations that order plain data, so its check can fail.
TYPED_TEST(IdiomsLitmus, RelaxedOperationsAreTooLittle) {
  EXPECT_NE(wrong_worlds<TypeParam>({.nodes = 3, .threads = 6, .relaxed = true, .times = 50}), 0u);
}

TEST(IdiomsLitmusFaults, AreFound) {
  const auto with = [](InjectedBug bug) { return Shape{.nodes = 3, .threads = 6, .bug = bug, .times = 50}; };
  EXPECT_NE(wrong_worlds<ExchangeLock>(with(InjectedBug::atomic_leaves_twin)), 0u);
  EXPECT_NE(wrong_worlds<ClaimedEntries>(with(InjectedBug::atomic_after_lease)), 0u);
  EXPECT_NE(wrong_worlds<CompareLock>(with(InjectedBug::release_not_announced)), 0u);
  EXPECT_NE(wrong_worlds<CompareLock>(with(InjectedBug::answered_without_release)), 0u);
  EXPECT_NE(wrong_worlds<TicketLock>(with(InjectedBug::atomic_beside_order)), 0u);
}

}  // namespace
}  // namespace musubi::sim
