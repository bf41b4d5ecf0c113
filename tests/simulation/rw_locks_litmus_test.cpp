// Scenarios of reader-writer locks in many hostile worlds: which threads are inside at once, the values that
// each sees, and that every thread gets in.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"

namespace musubi::sim {
namespace {

using sync::Share;

#ifdef MUSUBI_LITMUS_WORLDS
constexpr std::uint64_t worlds = MUSUBI_LITMUS_WORLDS;
#else
constexpr std::uint64_t worlds = 300;
#endif
constexpr RwLockId the_lock{0};
constexpr std::uint32_t nodes = 4, tasks_per_node = 2, tasks = nodes * tasks_per_node;

// Block 0 and 1: the same number, raised by writers. Block 2: a cell for each task, raised while it reads.
struct Truth {
  std::uint64_t written = 0;
  std::uint64_t raised[tasks]{};
  unsigned readers = 0, writers = 0;
  unsigned readers_most = 0, tried = 0, in_vain = 0;
  bool excluded = true, seen = true;
};

Task<> read(Stage& stage, Node& node, std::uint32_t task, Truth* truth) {
  truth->readers_most = std::max(truth->readers_most, ++truth->readers);
  truth->excluded &= truth->writers == 0;
  const std::uint64_t first = co_await load(node, 0);
  const std::uint64_t cell = co_await load(node, 2, task);
  co_await idle(stage, 3000);
  const std::uint64_t second = co_await load(node, 1);
  truth->seen &= first == truth->written && second == truth->written && cell == truth->raised[task];
  co_await store(node, 2, cell + 1, task);
  ++truth->raised[task];
  truth->excluded &= truth->writers == 0;
  --truth->readers;
}

Task<> write(Stage& stage, Node& node, Truth* truth) {
  ++truth->writers;
  truth->excluded &= truth->writers == 1 && truth->readers == 0;
  for (std::uint32_t task = 0; task < tasks; ++task) {
    const std::uint64_t cell = co_await load(node, 2, task);
    truth->seen &= cell == truth->raised[task];
  }
  const std::uint64_t value = co_await load(node, 0);
  truth->seen &= value == truth->written;
  co_await store(node, 0, value + 1);
  co_await idle(stage, 1000);
  co_await store(node, 1, value + 1);
  ++truth->written;
  truth->excluded &= truth->writers == 1 && truth->readers == 0;
  --truth->writers;
}

Task<> use_lock(Stage& stage, Node& node, std::uint32_t task, Truth* truth) {
  for (unsigned i = 0; i < 8; ++i) {
    co_await idle(stage, 4000);
    const Share share = stage.cluster().world().random().chance(30) ? Share::writing : Share::reading;
    const bool tries = stage.cluster().world().random().chance(25);
    bool taken = true;
    if (tries) {
      taken = co_await node.try_lock(the_lock, share);
      ++(taken ? truth->tried : truth->in_vain);
    } else {
      co_await node.lock(the_lock, share);
    }
    if (!taken) continue;
    if (share == Share::writing) {
      co_await write(stage, node, truth);
    } else {
      co_await read(stage, node, task, truth);
    }
    co_await node.unlock(the_lock, share);
  }
}

Configuration world_of_locks(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = hostile(seed, nodes);
  configuration.locks = 1;
  configuration.threads = tasks_per_node;
  configuration.bug = bug;
  return configuration;
}

// Result: whether all ended with the right values.
bool all_is_right(std::uint64_t seed, InjectedBug bug, Truth& truth) {
  Stage stage(world_of_locks(seed, bug), 3);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    stage.play(task % nodes, use_lock(stage, stage.node(task % nodes), task, &truth));
  }
  return stage.ends_well(20'000'000) && truth.excluded && truth.seen;
}

TEST(RwLocksLitmus, ReadersShareWritersExcludeAndEachSeesWhatWasReleased) {
  unsigned readers_most = 0, tried = 0, in_vain = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Truth truth;
    ASSERT_TRUE(all_is_right(seed, InjectedBug::none, truth)) << "seed " << seed;
    readers_most = std::max(readers_most, truth.readers_most);
    tried += truth.tried;
    in_vain += truth.in_vain;
  }
  EXPECT_GE(readers_most, 5u);
  EXPECT_GT(tried, worlds);
  EXPECT_GT(in_vain, worlds);
}

// In a child process: a fault may end it by a check of the runtime.
bool is_found(std::uint64_t seed, InjectedBug bug) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    Truth truth;
    ::_exit(all_is_right(seed, bug, truth) ? 0 : 1);
  }
  int status = 0;
  MUSUBI_CHECK(::waitpid(child, &status, 0) == child);
  return status != 0;
}

TEST(RwLocksLitmus, InjectedFaultsAreFound) {
  ASSERT_FALSE(is_found(1, InjectedBug::none));
  for (const InjectedBug bug : {InjectedBug::wait_record_unlocked_first, InjectedBug::reader_not_noted}) {
    std::uint64_t seed = 1;
    while (seed <= 100 && !is_found(seed, bug)) ++seed;
    EXPECT_LE(seed, 100u) << name_of(bug);
  }
}

// Two readers alternate, each arrives before the other leaves, until the writer has been inside.
Task<> read_until(Stage& stage, Node& node, const bool* written, unsigned* readers) {
  while (!*written) {
    co_await node.lock(the_lock, Share::reading);
    ++*readers;
    co_await idle(stage, 3000);
    for (unsigned k = 0; k < 5000 && *readers < 2 && !*written; ++k) co_await idle(stage, 1000);
    --*readers;
    co_await node.unlock(the_lock, Share::reading);
  }
}
Task<> write_once(Stage& stage, Node& node, bool* written) {
  co_await fabric::sim::think(100'000);
  co_await idle(stage, 5000);
  co_await node.lock(the_lock, Share::writing);
  *written = true;
  co_await node.unlock(the_lock, Share::writing);
}
// Result: whether the writer has got in after many events.
bool writer_gets_in(std::uint64_t seed, InjectedBug bug) {
  Configuration configuration = calm(4);
  configuration.seed = seed;
  configuration.locks = 1;
  configuration.bug = bug;
  Stage stage(configuration, 1);
  bool written = false;
  unsigned readers = 0;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    stage.play(rank, read_until(stage, stage.node(rank), &written, &readers));
  }
  stage.play(3, write_once(stage, stage.node(3), &written));
  (void)stage.ends_well(200'000);
  return written;
}

TEST(RwLocksLitmus, ReadersThatComeAndGoDoNotKeepAWriterOut) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(writer_gets_in(seed, InjectedBug::none)) << "seed " << seed;
  }
  std::uint64_t seed = 1;
  while (seed <= 100 && writer_gets_in(seed, InjectedBug::reader_passes_writer)) ++seed;
  EXPECT_LE(seed, 100u);
}

Task<> hold(Node& node, Share share, Event* held, Event* let_go) {
  co_await node.lock(the_lock, share);
  held->set();
  co_await *let_go;
  co_await node.unlock(the_lock, share);
}

struct Costs {
  std::uint64_t operations, messages;
};
Costs costs(Stage& stage) {
  return {stage.total(trace::Counter::remote_operations), stage.total(trace::Counter::messages)};
}

TEST(RwLocksLitmus, OnlyThreadsThatWaitGetAMessage) {
  Configuration configuration = calm(4);
  configuration.locks = 1;
  Stage stage(configuration, 1);
  Event held[4], let_go[4];
  // At its home it causes no network traffic.
  stage.play(0, hold(stage.node(0), Share::writing, &held[0], &let_go[0]));
  ASSERT_FALSE(stage.ends_well());
  EXPECT_EQ(costs(stage).operations, 0u);
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    stage.play(rank, hold(stage.node(rank), Share::reading, &held[rank], &let_go[rank]));
  }
  ASSERT_FALSE(stage.ends_well());
  const Costs before = costs(stage);
  let_go[0].set();
  ASSERT_FALSE(stage.ends_well());
  EXPECT_TRUE(held[1].is_set() && held[2].is_set() && held[3].is_set());
  EXPECT_EQ(costs(stage).messages - before.messages, 3u);
  for (std::uint32_t rank = 1; rank < 4; ++rank) let_go[rank].set();
  ASSERT_TRUE(stage.ends_well());
}

}  // namespace
}  // namespace musubi::sim
