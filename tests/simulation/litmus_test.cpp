// Named scenarios: memory orders that programs rely on, and rare paths of the protocol, each in many hostile
// worlds.
#include <algorithm>
#include <array>

#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 150;  // seeds per scenario
constexpr LockId lock0{0}, lock1{1};

// ---- message passing ----

Task<> send_under_lock(Stage& stage, Node& node) {
  co_await idle(stage, 20000);
  co_await store(node, 0, 42);
  co_await node.locks().lock(lock0);
  co_await store(node, 1, 1);
  co_await node.locks().unlock(lock0);
}

Task<> receive_under_lock(Stage& stage, Node& node, std::uint64_t* data) {
  (void)co_await load(node, 0);  // an old copy, to be replaced
  for (std::uint64_t flag = 0; flag == 0;) {
    co_await idle(stage, 5000);
    co_await node.locks().lock(lock0);
    flag = co_await load(node, 1);
    co_await node.locks().unlock(lock0);
  }
  *data = co_await load(node, 0);
}

TEST(Litmus, AMessageUnderALockBringsWhatWasWrittenBefore) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(hostile(seed, 4), 4);
    std::array<std::uint64_t, 3> data{};
    stage.play(0, send_under_lock(stage, stage.node(0)));
    for (std::uint32_t i = 0; i < 3; ++i)
      stage.play(i + 1, receive_under_lock(stage, stage.node(i + 1), &data[i]));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    for (const std::uint64_t value : data) ASSERT_EQ(value, 42u) << "seed " << seed;
  }
}

// ---- independent reads of independent writes ----

Task<> write_under(Stage& stage, Node& node, LockId lock, std::uint64_t block) {
  co_await idle(stage, 10000);
  co_await node.locks().lock(lock);
  co_await store(node, block, 1);
  co_await node.locks().unlock(lock);
}

struct Seen {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

Task<> read_two(Stage& stage, Node& node, LockId first, std::uint64_t first_block, LockId second,
                std::uint64_t second_block, Seen* seen) {
  (void)co_await load(node, first_block);
  (void)co_await load(node, second_block);
  co_await idle(stage, 12000);
  co_await node.locks().lock(first);
  seen->first = co_await load(node, first_block);
  co_await node.locks().unlock(first);
  co_await node.locks().lock(second);
  seen->second = co_await load(node, second_block);
  co_await node.locks().unlock(second);
}

TEST(Litmus, ReadersUnderLocksAgreeOnTheOrderOfIndependentWrites) {
  unsigned interesting = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 4);
    configuration.locks = 2;
    Stage stage(configuration, 8);
    Seen a, b;
    stage.play(0, write_under(stage, stage.node(0), lock0, 2));
    stage.play(1, write_under(stage, stage.node(1), lock1, 3));
    stage.play(2, read_two(stage, stage.node(2), lock0, 2, lock1, 3, &a));
    stage.play(3, read_two(stage, stage.node(3), lock1, 3, lock0, 2, &b));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    const bool disagree = a.first == 1 && a.second == 0 && b.first == 1 && b.second == 0;
    ASSERT_FALSE(disagree) << "seed " << seed;
    if (a.first != a.second || b.first != b.second) ++interesting;
  }
  EXPECT_GT(interesting, 0u);
}

// ---- release and acquire by the clock ----

Task<> pass_by_clock(Stage& stage, Node& node, std::uint32_t self, std::uint32_t* turn, unsigned rounds,
                     unsigned* failures) {
  const std::uint32_t nodes = stage.cluster().size();
  for (unsigned round = 0; round < rounds; ++round) {
    const std::uint32_t mine = round * nodes + self;
    while (*turn != mine) co_await idle(stage, 3000);
    co_await node.acquire();
    const std::uint64_t seen = co_await load(node, 1);
    if (seen != mine) ++*failures;
    co_await store(node, 1, mine + 1);
    co_await node.release();
    ++*turn;
  }
}

TEST(Litmus, TheClockPassesWritesOnWithoutAPartner) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(hostile(seed, 3), 3);
    std::uint32_t turn = 0;
    unsigned failures = 0;
    for (std::uint32_t i = 0; i < 3; ++i)
      stage.play(i, pass_by_clock(stage, stage.node(i), i, &turn, 4, &failures));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(failures, 0u) << "seed " << seed;
  }
}

// ---- silent releases, and a reader that comes late ----

Task<> write_alone_then_meet(Node& node, unsigned releases) {
  for (std::uint64_t i = 1; i <= releases; ++i) {
    co_await store(node, 0, i);
    co_await meet(node);
  }
}

Task<> meet_then_read(Node& node, unsigned barriers, std::uint64_t* value) {
  for (unsigned i = 0; i < barriers; ++i) co_await meet(node);
  *value = co_await load(node, 0);
}

TEST(Litmus, ALateReaderSeesWhatWasReleasedSilently) {
  std::uint64_t silent = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(hostile(seed, 3), 3);
    std::array<std::uint64_t, 2> values{};
    stage.play(0, write_alone_then_meet(stage.node(0), 6));
    for (std::uint32_t i = 0; i < 2; ++i) stage.play(i + 1, meet_then_read(stage.node(i + 1), 6, &values[i]));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(values, (std::array<std::uint64_t, 2>{6, 6})) << "seed " << seed;
    silent += stage.total(trace::Counter::silent_releases);
  }
  EXPECT_GT(silent, worlds);
}

// ---- a lease that is renewed ----

Task<> write_other_blocks(Node& node, unsigned rounds) {
  co_await store(node, 0, 7);
  co_await meet(node);
  for (unsigned round = 0; round < rounds; ++round) {
    co_await meet(node);  // the reader reads at this time
    for (std::uint64_t block = 1; block < 6; ++block) co_await store(node, block, round + 1);
    co_await meet(node);
  }
}

Task<> read_each_round(Node& node, unsigned rounds, unsigned* failures) {
  co_await meet(node);
  for (unsigned round = 0; round < rounds; ++round) {
    const std::uint64_t constant = co_await load(node, 0);
    const std::uint64_t moving = co_await load(node, 3);  // its readers make new versions visible in time
    if (constant != 7 || moving != round) ++*failures;
    co_await meet(node);
    co_await meet(node);
  }
}

TEST(Litmus, ALapsedLeaseOfUnchangedDataIsRenewedWithoutMovingIt) {
  std::uint64_t renewals = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 2);
    configuration.protocol.signature_notices_max = 2;  // the minimum rises at every barrier
    configuration.protocol.lease_ticks = 1;
    Stage stage(configuration, 6);
    unsigned failures = 0;
    stage.play(0, write_other_blocks(stage.node(0), 12));
    stage.play(1, read_each_round(stage.node(1), 12, &failures));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(failures, 0u) << "seed " << seed;
    renewals += stage.total(trace::Counter::renewals);
  }
  EXPECT_GT(renewals, worlds);
}

// ---- more notices than a signature holds ----

Task<> write_many(Node& node, std::uint64_t blocks) {
  co_await meet(node);
  for (std::uint64_t block = 0; block < blocks; ++block) co_await store(node, block, block + 100);
  co_await meet(node);
}

Task<> read_many(Node& node, std::uint64_t blocks, unsigned* failures) {
  for (std::uint64_t block = 0; block < blocks; ++block) (void)co_await load(node, block);
  co_await meet(node);
  co_await meet(node);
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t value = co_await load(node, block);
    if (value != block + 100) ++*failures;
  }
}

TEST(Litmus, ASignatureThatOverflowsStillCoversEverything) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.protocol.signature_notices_max = 2;
    Stage stage(configuration, 12);
    unsigned failures = 0;
    stage.play(0, write_many(stage.node(0), 12));
    for (std::uint32_t i = 1; i < 3; ++i) stage.play(i, read_many(stage.node(i), 12, &failures));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(failures, 0u) << "seed " << seed;
  }
}

// ---- a home that moves, and a reader with an old link ----

Task<> increment_in_turn(Stage& stage, Node& node, std::uint32_t self, std::uint32_t* turn) {
  while (*turn != self) co_await idle(stage, 2000);
  co_await node.locks().lock(lock0);
  const std::uint64_t value = co_await load(node, 0);
  co_await store(node, 0, value + 1);
  co_await node.locks().unlock(lock0);
  ++*turn;
}

Task<> read_last(Stage& stage, Node& node, std::uint32_t writers, std::uint32_t* turn, std::uint64_t* value) {
  while (*turn != writers) co_await idle(stage, 5000);
  co_await node.locks().lock(lock0);
  *value = co_await load(node, 0);
  co_await node.locks().unlock(lock0);
}

TEST(Litmus, AReaderFollowsALongChainToTheHome) {
  std::uint64_t long_chains = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Stage stage(hostile(seed, 8), 8);
    std::uint32_t turn = 0;
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < 7; ++i) stage.play(i, increment_in_turn(stage, stage.node(i), i, &turn));
    stage.play(7, read_last(stage, stage.node(7), 7, &turn, &value));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(value, 7u) << "seed " << seed;
    long_chains += stage.cluster().world().marks().contains("owner_chain.longer_than_2");
  }
  EXPECT_GT(long_chains, 0u);
}

// ---- the home moves while readers try to read ----

constexpr sync::Channel word_channel = 5;

// By operations that fetch the block: plain stores would be merged at the home.
Task<> raise_own_word(Stage& stage, Node& node, std::size_t index, unsigned rounds) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    AtomicChange increment(index, addition_of(1), false);
    co_await node.protocol().modify(BlockId{0}, increment);
    co_await node.clock().raise(word_channel);
    co_await idle(stage, 300);
  }
}

Task<> read_constant_word(Stage& stage, Node& node, unsigned rounds, unsigned* failures) {
  std::uint64_t last = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    co_await node.clock().acquire(word_channel);
    const std::uint64_t constant = co_await load(node, 0, 7);
    if (constant != 0) ++*failures;
    // Another rank writes it at the same time: any value is allowed, but an acquired value never goes back.
    const std::uint64_t moving = co_await load(node, 0, 0);
    if (moving < last) ++*failures;
    last = moving;
    co_await idle(stage, 500);
  }
}

TEST(Litmus, ReadersMakeProgressWhileTheHomeMoves) {
  std::uint64_t migrations = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 4);
    configuration.protocol.read_retries_max = 1 + static_cast<std::uint32_t>(seed % 2);
    Stage stage(configuration, 1);
    unsigned failures = 0;
    for (std::uint32_t i = 0; i < 2; ++i) stage.play(i, raise_own_word(stage, stage.node(i), i, 20));
    for (std::uint32_t i = 2; i < 4; ++i) {
      stage.play(i, read_constant_word(stage, stage.node(i), 20, &failures));
    }
    ASSERT_NO_FATAL_FAILURE(stage.finish());
    ASSERT_EQ(failures, 0u) << "seed " << seed;
    migrations += stage.total(trace::Counter::home_migrations);
  }
  EXPECT_GT(migrations, worlds * 10);
}

}  // namespace
}  // namespace musubi::sim
