// Injected faults that random programs reach too seldom: a scenario for each, in many hostile worlds. Without
// the fault nothing may go wrong in any of them.
#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 1000;
constexpr std::uint64_t step_of_turns_ns = 2000;

// ---- twin_without_version ----
//
// The home has given the block's public copy back while it was read-only, and a reader holds a lease. The
// home opens it for writing, which makes a twin, and changes a word to and fro. A reader that checked before
// that and takes live bytes after it has the word's transient value and assumes that its bytes equal the
// twin; its own next version, of another word, then carries that value, and the home finds its word
// unchanged.

constexpr unsigned quiet_barriers = 8;  // until the home has given the public copy back
constexpr std::size_t word_of_home = 0, word_of_taker = 1;
constexpr std::uint64_t lasting = 1, passing = 2;

Task<> change_to_and_fro(Stage& stage, Node& node, std::uint64_t* value) {
  co_await store(node, 0, lasting, word_of_home);
  for (unsigned i = 0; i <= quiet_barriers; ++i) co_await meet(node);
  co_await idle(stage, 15000);
  co_await store(node, 0, passing, word_of_home);
  co_await idle(stage, 4000);
  co_await store(node, 0, lasting, word_of_home);
  co_await fabric::sim::think(100000);  // the other rank releases first
  co_await meet(node);
  *value = co_await load(node, 0, word_of_home);
  co_await meet(node);
}

Task<> take_a_lease(Node& node) {
  co_await meet(node);
  (void)co_await load(node, 0, word_of_home);  // the home makes a public copy
  for (unsigned i = 1; i < quiet_barriers; ++i) co_await meet(node);
  (void)co_await load(node, 0, word_of_home);
  for (unsigned i = 0; i < 3; ++i) co_await meet(node);
}

Task<> write_another_word(Stage& stage, Node& node) {
  for (unsigned i = 0; i <= quiet_barriers; ++i) co_await meet(node);
  co_await idle(stage, 3000);
  (void)co_await load(node, 0, word_of_taker);
  co_await store(node, 0, 7, word_of_taker);
  for (unsigned i = 0; i < 2; ++i) co_await meet(node);
}

// Result: whether the home's word is right at the end, and no checker complains.
bool home_keeps_its_word(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 3);
  configuration.protocol.leave_unpublished = true;
  configuration.protocol.downgrade_after_releases = 1;
  configuration.protocol.give_back_after_releases = 1;
  configuration.protocol.cached_bytes = 1 << 20;
  configuration.bug = bug;
  configuration.model = {50, 500, 1000, 5, 5, 0, 0};  // much happens between the steps of a batch
  Stage stage(configuration, 1);
  std::uint64_t value = 0;
  stage.play(0, change_to_and_fro(stage, stage.node(0), &value));
  stage.play(1, take_a_lease(stage.node(1)));
  stage.play(2, write_another_word(stage, stage.node(2)));
  return stage.ends_well() && value == lasting;
}

TEST(InjectedLitmus, ATwinRaisesTheVersionOfAnUnpublishedBlock) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, home_keeps_its_word, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, home_keeps_its_word, InjectedBug::twin_without_version), 0u);
}

// ---- stack_without_gate ----
//
// A thread counts up under a lock, in the stack of a thread of its rank, while a third thread of the rank
// adds atomically to another word there. That publishes the block, and then names its new version. A release
// in between finds the live part unchanged: the next holder of the lock must still learn of the count.

constexpr unsigned counts = 40;
constexpr std::size_t worked_word = 0, counted_word = 4, atomic_word = 7;
constexpr LockId counting{0};

Task<> count_under_lock(Stage& stage, Node& node, std::uint64_t* count, bool* stale) {
  for (unsigned i = 0; i < counts; ++i) {
    co_await node.locks().lock(counting);
    const std::uint64_t value = co_await load(node, 0, counted_word);
    if (value != *count) *stale = true;
    co_await store(node, 0, ++*count, counted_word);
    co_await idle(stage, 500);
    co_await node.unlock(counting);
    co_await idle(stage, 500);
  }
}

Task<> read_under_lock(Stage& stage, Node& node, const std::uint64_t* count, bool* stale) {
  for (unsigned i = 0; i < counts; ++i) {
    co_await node.locks().lock(counting);
    const std::uint64_t value = co_await load(node, 0, counted_word);
    if (value != *count) *stale = true;
    co_await node.unlock(counting);
    co_await idle(stage, 500);
  }
}

Task<> add_atomically(Stage& stage, Node& node) {
  for (unsigned i = 0; i < counts; ++i) {
    AtomicChange increment(atomic_word, addition_of(1), false);
    co_await node.modify(BlockId{0}, increment);
    co_await idle(stage, 2000);
  }
}

// Result: whether the next holder of the lock sees the count, which is kept in a stack where `companion`
// works.
using Companion = Task<>(Stage& stage, Node& node);
bool count_is_seen_beside(Companion& companion, std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 2);
  configuration.threads = 2;
  configuration.plain_flags = 0;
  configuration.interruption = 10;
  configuration.model = fabric::sim::LatencyModel::shared_memory();
  configuration.bug = bug;
  Stage stage(configuration, 1);
  Node& owner = stage.node(0);
  const vm::Extent stack = stage.cluster().space().extent(BlockId{0});
  owner.protocol().pin(BlockId{0}, 1);
  owner.protocol().note_stack(0, stack.address, stack.address + stack.bytes);
  std::uint64_t count = 0;
  bool stale = false;
  stage.play(0, count_under_lock(stage, owner, &count, &stale));
  stage.play(0, companion(stage, owner));
  stage.play(1, read_under_lock(stage, stage.node(1), &count, &stale));
  return stage.ends_well() && !stale;
}

bool seen_beside_atomics(std::uint64_t seed, InjectedBug bug) {
  return count_is_seen_beside(add_atomically, seed, bug);
}

TEST(InjectedLitmus, AReleasePassesNothingThatHasNoNameYet) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, seen_beside_atomics, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, seen_beside_atomics, InjectedBug::stack_without_gate), 0u);
}

// ---- difference_seen_twice ----
//
// The same, but the stack's thread goes on working there. Its writes differ from the public copy at one
// comparison and not at the next: the later count must be found all the same.

Task<> work_on_the_stack(Stage& stage, Node& node) {
  for (unsigned i = 0; i < 20 * counts; ++i) {
    co_await store(node, 0, i % 2, worked_word);
    co_await idle(stage, 100);
  }
}

bool seen_beside_work(std::uint64_t seed, InjectedBug bug) {
  return count_is_seen_beside(work_on_the_stack, seed, bug);
}

TEST(InjectedLitmus, BytesThatComeAndGoHideNoOthers) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, seen_beside_work, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, seen_beside_work, InjectedBug::difference_seen_twice), 0u);
}

// ---- dropped_copy_not_noticed ----
//
// The home publishes a version and tells its reader; at the next barrier it gives the copy back, since it has
// not changed since then. The reader comes late, and asks for the copy, by its notice, while the copy is
// being dropped.

Task<> publish_and_give_back(Node& node) {
  for (std::uint64_t version = 1; version <= 4; ++version) {
    co_await store(node, 0, version);
    co_await meet(node);
    co_await meet(node);
  }
}

Task<> read_late(Stage& stage, Node& node, bool* right) {
  for (std::uint64_t version = 1; version <= 4; ++version) {
    co_await meet(node);
    co_await idle(stage, 4000);
    const std::uint64_t value = co_await load(node, 0);
    *right = *right && value == version;
    co_await meet(node);
  }
}

// Result: whether the reader saw each version, and no checker complains.
bool late_reader_sees_all(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 2);
  configuration.plain_flags = 0;
  configuration.protocol.leave_unpublished = true;
  configuration.protocol.lease_ticks = 10;
  configuration.protocol.lease_probe_releases = 16;
  configuration.protocol.signature_notices_max = 64;
  configuration.protocol.downgrade_after_releases = 1;
  configuration.protocol.give_back_after_releases = 1;
  configuration.protocol.fetches_ahead_max = 0;
  configuration.bug = bug;
  configuration.model = {50, 500, 1000, 5, 5, 0, 0};
  Stage stage(configuration, 1);
  bool right = true;
  stage.play(0, publish_and_give_back(stage.node(0)));
  stage.play(1, read_late(stage, stage.node(1), &right));
  return stage.ends_well() && right;
}

TEST(InjectedLitmus, AReaderNoticesThatACopyIsBeingGivenBack) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, late_reader_sees_all, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, late_reader_sees_all, InjectedBug::dropped_copy_not_noticed), 0u);
}

// ---- clock_of_another_channel ----
//
// Two ranks write a block in turn, by a word that tells whose turn it is. The acquire reads a clock that no
// rank has advanced, and the old copy stays open.

Task<> write_in_turn(Node& node, std::uint32_t self, std::uint32_t* turn, unsigned* failures) {
  constexpr sync::Channel channel = 17;
  for (std::uint32_t mine = self; mine < 8; mine += 2) {
    while (*turn != mine) co_await fabric::sim::think(step_of_turns_ns);
    co_await node.acquire(channel);
    if (co_await load(node, 0) != mine) ++*failures;
    co_await store(node, 0, mine + 1);
    co_await node.release(channel);
    ++*turn;
  }
}

bool turns_see_each_other(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 2);
  configuration.bug = bug;
  Stage stage(configuration, 1);
  std::uint32_t turn = 0;
  unsigned failures = 0;
  for (std::uint32_t i = 0; i < 2; ++i) stage.play(i, write_in_turn(stage.node(i), i, &turn, &failures));
  return stage.ends_well() && failures == 0;
}

TEST(InjectedLitmus, ReleaseAndAcquireMeetInTheClockOfTheirChannel) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, turns_see_each_other, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, turns_see_each_other, InjectedBug::clock_of_another_channel), 0u);
}

// ---- taken_copy_not_renamed ----
//
// The home's block is unpublished. An early reader takes its live bytes; the home changes its word again; a
// second rank writes for the first time, takes the lock and with it the live bytes, which are newer than the
// early reader's. If both have the same name, the early reader publishes its own as the newest version when
// it writes another word, and the home's word falls back.

constexpr std::size_t word_of_reader = 1, word_of_second = 2;
constexpr std::uint64_t step_ns = 20000;

Task<> change_twice(Node& node, std::uint64_t* value) {
  co_await store(node, 0, passing, word_of_home);
  co_await fabric::sim::think(2 * step_ns);
  co_await store(node, 0, lasting, word_of_home);
  co_await fabric::sim::think(6 * step_ns);
  co_await meet(node);
  *value = co_await load(node, 0, word_of_home);
}

Task<> read_early_and_write(Node& node) {
  co_await fabric::sim::think(step_ns);
  (void)co_await load(node, 0, word_of_reader);
  co_await fabric::sim::think(3 * step_ns);
  co_await store(node, 0, 5, word_of_reader);
  co_await meet(node);  // before the other ranks
}

Task<> write_under_the_lock(Node& node) {
  co_await fabric::sim::think(3 * step_ns);
  co_await store(node, 0, 7, word_of_second);
  co_await fabric::sim::think(6 * step_ns);
  co_await meet(node);
}

// Result: whether the home's word is right at the end, and no checker complains.
bool second_change_stays(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, 3);
  configuration.plain_flags = 0;
  configuration.protocol.leave_unpublished = true;
  configuration.bug = bug;
  Stage stage(configuration, 1);
  std::uint64_t value = 0;
  stage.play(0, change_twice(stage.node(0), &value));
  stage.play(1, read_early_and_write(stage.node(1)));
  stage.play(2, write_under_the_lock(stage.node(2)));
  return stage.ends_well() && value == lasting;
}

TEST(InjectedLitmus, WhoTakesLiveBytesWithTheLockNamesThemAnew) {
  EXPECT_EQ(worlds_that_go_wrong(worlds, second_change_stays, InjectedBug::none), 0u);
  EXPECT_GT(worlds_that_go_wrong(worlds, second_change_stays, InjectedBug::taken_copy_not_renamed), 0u);
}

}  // namespace
}  // namespace musubi::sim
