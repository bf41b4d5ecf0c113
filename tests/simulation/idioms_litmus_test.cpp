// Idioms of programs that synchronise by atomic operations, with plain data: locks made of one or two words,
// the last reference to an object, a queue whose places are claimed, and two threads that each change a word
// and then look at the word of the next one. All threads wait by operations or by loads, while the background
// polls.
#include <string>
#include <utility>

#include "idiom.h"

namespace musubi::sim {
namespace {

#ifndef MUSUBI_FLAGS_WORLDS
#define MUSUBI_FLAGS_WORLDS 120
#endif
constexpr std::uint64_t worlds = MUSUBI_FLAGS_WORLDS;

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

// A count of references, up instead of down: the last thread finds the writes of all.
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

// A count of writes that is odd while a writer is at work; readers look again if it was, or has changed.
class SequenceLock final : public Idiom {
  using Idiom::Idiom;
  static constexpr std::size_t sequence = 0, first = 1, second = 2;
  static constexpr std::uint64_t rounds = 4;
  Task<> take_part(Node& node, std::uint32_t thread) override {
    return thread == 0 ? write_all(node) : read_until_last(node);
  }
  Task<> write_all(Node& node) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      (void)co_await add(node, sequence, 1);
      co_await write(node, first, round);
      co_await think();
      co_await write(node, second, round);
      (void)co_await add(node, sequence, 1);
    }
  }
  Task<> read_until_last(Node& node) {
    for (std::uint64_t before = 0; before != 2 * rounds; co_await pause()) {
      before = co_await add(node, sequence, 0);
      const std::uint64_t one = co_await read(node, first);
      const std::uint64_t other = co_await read(node, second);
      const std::uint64_t after = co_await add(node, sequence, 0);
      if (before == after && before % 2 == 0) fail_unless(one == before / 2 && other == before / 2);
    }
  }
};

// Treiber's stack: each thread pushes a node, whose link and data are plain, and pops one.
class LinkedStack final : public Idiom {
  using Idiom::Idiom;
  static constexpr std::size_t top = 0, links = 1, data = 8;
  std::uint64_t popped_ = 0;  // a bit for each node
  Task<> take_part(Node& node, std::uint32_t thread) override {
    co_await write(node, data + thread, thread + 1);
    std::uint64_t seen = 0;
    for (;;) {
      co_await write(node, links + thread, seen);
      const std::uint64_t found = co_await compare_exchange(node, top, seen, thread + 1);
      if (found == seen) break;
      seen = found;
    }
    seen = co_await pop(node);
    if (seen == 0) co_return;
    const std::uint64_t bit = std::uint64_t{1} << seen;
    const std::uint64_t value = co_await read(node, data + seen - 1);
    fail_unless(value == seen && (popped_ & bit) == 0);
    popped_ |= bit;
  }
  // Result: the number of the node; 0 if the stack is broken.
  Task<std::uint64_t> pop(Node& node) {
    constexpr unsigned attempts_max = 100;
    std::uint64_t seen = 0;
    for (unsigned attempt = 0; attempt < attempts_max; ++attempt) {
      const std::uint64_t next = seen == 0 ? 0 : co_await read(node, links + seen - 1);
      const std::uint64_t found = co_await compare_exchange(node, top, seen, next);
      if (found == seen && seen != 0) co_return seen;
      seen = found;
    }
    fail_unless(false);
    co_return 0;
  }
};

// An object that the first thread to need it makes, under a lock; later threads look at its address only.
class MadeOnce final : public Idiom {
  using Idiom::Idiom;
  static constexpr std::size_t address = 0, guard = 1, object = 2, made = 3;
  Task<> take_part(Node& node, std::uint32_t) override {
    const std::uint64_t known = co_await read(node, address);
    if (known == 0) co_await make(node);
    const std::uint64_t value = co_await read(node, object);
    fail_unless(value == 1);
  }
  Task<> make(Node& node) {
    for (;;) {
      const std::uint64_t before = co_await exchange(node, guard, 1);
      if (before == 0) break;
      co_await pause();
    }
    const std::uint64_t known = co_await read(node, address);
    if (known == 0) {
      const std::uint64_t before = co_await read(node, made);
      fail_unless(before == 0);
      co_await write(node, made, 1);
      co_await write(node, object, 1);
      (void)co_await exchange(node, address, 1);
    }
    (void)co_await exchange(node, guard, 0);
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

template <class Scenario>
struct Job {
  Shape shape;

  bool operator()(std::uint64_t seed, InjectedBug bug) const {
    Configuration configuration = hostile(seed, shape.nodes);
    configuration.threads = shape.threads / shape.nodes;
    configuration.plain_flags = 1;
    configuration.background = 1;
    configuration.bug = bug;
    Random random(seed);
    Stage stage(configuration, idiom_blocks, idiom_words * sizeof(std::uint64_t));
    Scenario scenario(stage, random, shape);
    scenario.start();
    stage.finish(20'000'000);
    return scenario.failures() == 0;
  }
};

template <class Scenario>
class IdiomsLitmus : public testing::Test {};
using Idioms = testing::Types<ExchangeLock, CompareLock, TicketLock, LastReference, ClaimedEntries,
                              SequenceLock, LinkedStack, MadeOnce, LookAtNext>;
TYPED_TEST_SUITE(IdiomsLitmus, Idioms);

TYPED_TEST(IdiomsLitmus, HoldsInAllWorlds) {
  for (const auto& [nodes, threads] : {std::pair{2u, 2u}, {3u, 3u}, {2u, 4u}, {3u, 6u}}) {
    SCOPED_TRACE(std::to_string(threads) + " threads on " + std::to_string(nodes) + " nodes");
    expect_right_in_all(worlds, Job<TypeParam>{{.nodes = nodes, .threads = threads}});
  }
}

constexpr std::uint64_t worlds_to_find_in = 50 * worlds;

// Each idiom needs operations that order plain data, so its check can fail.
TYPED_TEST(IdiomsLitmus, RelaxedOperationsAreTooLittle) {
  const Job<TypeParam> relaxed{{.nodes = 3, .threads = 6, .relaxed = true}};
  EXPECT_TRUE(is_found(worlds_to_find_in, relaxed, InjectedBug::none));
}

template <class Scenario>
void expect_found(InjectedBug bug) {
  const Job<Scenario> job{{.nodes = 3, .threads = 6}};
  EXPECT_TRUE(is_found(worlds_to_find_in, job, bug)) << name_of(bug);
}

TEST(IdiomsLitmusFaults, AreFound) {
  expect_found<ExchangeLock>(InjectedBug::atomic_leaves_twin);
  expect_found<ClaimedEntries>(InjectedBug::atomic_after_lease);
  expect_found<CompareLock>(InjectedBug::release_not_announced);
  expect_found<CompareLock>(InjectedBug::answered_without_release);
  expect_found<TicketLock>(InjectedBug::atomic_beside_order);
}

}  // namespace
}  // namespace musubi::sim
