// Scenarios of locks: what happens between the looks of those who take them, in many hostile worlds.
#include "stage.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t worlds = 300;
constexpr LockId first{0}, second{1};

Task<> hold_one_and_try_the_other(Stage& stage, Node& node, unsigned* taken) {
  for (unsigned i = 0; i < 20; ++i) {
    co_await idle(stage, 3000);
    co_await node.locks().lock(first);
    co_await idle(stage, 3000);
    const bool got = co_await node.locks().try_lock(second);
    if (got) {
      ++*taken;
      co_await idle(stage, 3000);
      co_await node.unlock(second);
    }
    co_await node.unlock(first);
  }
}

Task<> take_both(Stage& stage, Node& node) {
  for (unsigned i = 0; i < 20; ++i) {
    co_await idle(stage, 6000);
    co_await node.locks().lock(second);
    co_await node.locks().lock(first);
    co_await node.unlock(first);
    co_await node.unlock(second);
  }
}

// The order of taking differs, which is right as long as the one side only tries.
TEST(LocksLitmus, ATryWaitsForNobody) {
  unsigned taken = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 3);
    configuration.locks = 2;
    Stage stage(configuration, 1);
    stage.play(0, hold_one_and_try_the_other(stage, stage.node(0), &taken));
    stage.play(1, take_both(stage, stage.node(1)));
    ASSERT_NO_FATAL_FAILURE(stage.finish());
  }
  EXPECT_GT(taken, worlds);
}

struct Count {
  std::uint64_t value = 0;
  unsigned inside = 0;
  bool shared = false;
};

Task<> count_by_trying(Stage& stage, Node& node, Count* count) {
  for (unsigned done = 0; done < 10;) {
    co_await idle(stage, 2000);
    const bool got = co_await node.locks().try_lock(first);
    if (!got) continue;
    ++done;
    count->shared |= ++count->inside != 1;
    const std::uint64_t value = co_await load(node, 0);
    co_await idle(stage, 500);
    co_await store(node, 0, value + 1);
    --count->inside;
    co_await node.unlock(first);
  }
}

Task<> count_by_waiting(Stage& stage, Node& node, Count* count) {
  for (unsigned i = 0; i < 10; ++i) {
    co_await idle(stage, 4000);
    co_await node.locks().lock(first);
    count->shared |= ++count->inside != 1;
    const std::uint64_t value = co_await load(node, 0);
    co_await store(node, 0, value + 1);
    --count->inside;
    co_await node.unlock(first);
  }
}

Task<> read_count(Node& node, Count* count) {
  co_await node.locks().lock(first);
  count->value = co_await load(node, 0);
  co_await node.unlock(first);
}

// Some try and others wait, on all ranks and in several threads of one: nobody is lost in the queue, nobody
// comes in beside another, and each sees what the one before it wrote.
TEST(LocksLitmus, ThoseWhoTryAndThoseWhoWaitExcludeEachOther) {
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Configuration configuration = hostile(seed, 4);
    configuration.locks = 1;
    configuration.threads = 2;
    Stage stage(configuration, 1);
    Count count;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      stage.play(rank, count_by_trying(stage, stage.node(rank), &count));
      if (rank < 2) stage.play(rank, count_by_waiting(stage, stage.node(rank), &count));
    }
    ASSERT_NO_FATAL_FAILURE(stage.finish(20'000'000));
    do_now(stage, stage.node(seed % 4), read_count(stage.node(seed % 4), &count));
    ASSERT_FALSE(count.shared) << "seed " << seed;
    ASSERT_EQ(count.value, 60u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace musubi::sim
