// The user locks over the simulated network: notices of the rank that releases a lock go with it to the next
// holder.
#include "sync/lock_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coherence/core/block_words.h"
#include "coherence/regions.h"
#include "far_fabric.h"
#include "notice_protocol.h"
#include "sim_job.h"

namespace musubi::sync {
namespace {

using fabric::conformance::draw_behaviour;
using fabric::conformance::SimBehaviour;
using fabric::conformance::SimJob;

constexpr std::size_t notices_max = 128, lock_count = 600;

// A rank: its signature in the control region, and the words of the locks after it.
struct Member {
  explicit Member(fabric::sim::SimFabric& node)
      : fabric(node),
        control((words_offset + LockTable::words_bytes(lock_count, node.ranks())) / sizeof(std::uint64_t)),
        protocol(node.self(), memory(), notices_max),
        seen(node, 1),
        locks(seen, protocol, node.counters(), grants, memory() + words_offset, words_offset, lock_count, 0,
              notices_max) {
    node.attach({coherence::control_region, memory(), control.size() * sizeof(std::uint64_t)});
    node.listen(fabric::MessageKind::lock_granted, &grants);
  }
  std::byte* memory() { return reinterpret_cast<std::byte*>(control.data()); }
  std::uint64_t count(trace::Counter counter) const { return fabric.counters().get(counter); }

  static constexpr std::size_t words_offset = coherence::signature_bytes(notices_max);
  fabric::sim::SimFabric& fabric;
  std::vector<std::uint64_t> control;
  remote_lock::Grants grants;
  NoticeProtocol protocol;
  runtime::FarFabric seen;
  LockTable locks;
};

class LockTableTest : public testing::Test {
 protected:
  void join(std::uint32_t ranks, std::uint64_t seed = 1, const SimBehaviour& behaviour = {}) {
    job.reset();
    members.clear();
    job = std::make_unique<SimJob>(seed, ranks, behaviour);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      members.push_back(std::make_unique<Member>(job->node(rank)));
  }
  Member& member(std::uint32_t rank) { return *members[rank]; }
  // Plays it concurrently with all waiting tasks. Result: whether it ended.
  bool ends(std::uint32_t rank, Task<> task) {
    const std::size_t before = job->waiting();
    job->play(rank, std::move(task));
    EXPECT_TRUE(job->run());
    return job->waiting() == before;
  }

  std::vector<std::unique_ptr<Member>> members;  // outlive the tasks
  std::unique_ptr<SimJob> job;
};

Task<> write_inside(Member& member, LockId lock, std::uint64_t block, std::uint64_t time) {
  co_await member.locks.lock(lock);
  member.protocol.write(block, time);
  co_await member.locks.unlock(lock);
}

Task<> take(Member& member, LockId lock) {
  co_await member.locks.lock(lock);
  co_await member.locks.unlock(lock);
}

Task<> hold(Member& member, LockId lock, Event* let_go) {
  co_await member.locks.lock(lock);
  co_await *let_go;
  co_await member.locks.unlock(lock);
}

Task<> try_it(Member& member, LockId lock, bool* taken) {
  *taken = co_await member.locks.try_lock(lock);
  if (*taken) co_await member.locks.unlock(lock);
}

TEST_F(LockTableTest, NoticesTravelWithTheLock) {
  join(2);
  EXPECT_TRUE(ends(0, write_inside(member(0), LockId{0}, 7, 10)));
  EXPECT_EQ(member(1).protocol.knows(7), 0u);
  EXPECT_TRUE(ends(1, take(member(1), LockId{0})));
  EXPECT_EQ(member(1).protocol.knows(7), 10u);
}

TEST_F(LockTableTest, NoticesTravelOverRanksThatWroteNothing) {
  join(3);
  EXPECT_TRUE(ends(0, write_inside(member(0), LockId{0}, 7, 10)));
  EXPECT_TRUE(ends(1, take(member(1), LockId{0})));
  EXPECT_TRUE(ends(2, take(member(2), LockId{0})));
  EXPECT_EQ(member(2).protocol.knows(7), 10u);
}

// More than one read of the signature returns.
TEST_F(LockTableTest, ManyNoticesTravel) {
  join(2);
  for (std::uint64_t block = 0; block < 100; ++block) member(0).protocol.write(block, 10 + block);
  EXPECT_TRUE(ends(0, take(member(0), LockId{0})));
  EXPECT_TRUE(ends(1, take(member(1), LockId{0})));
  for (std::uint64_t block = 0; block < 100; ++block) {
    ASSERT_EQ(member(1).protocol.knows(block), 10 + block) << "block " << block;
  }
}

// As its sequence word says: odd.
TEST_F(LockTableTest, ASignatureThatIsBeingChangedIsLookedAtAgain) {
  join(2);
  EXPECT_TRUE(ends(0, write_inside(member(0), LockId{0}, 7, 10)));
  std::uint64_t& sequence = member(0).control[0];
  ++sequence;
  job->play(1, take(member(1), LockId{0}));
  EXPECT_FALSE(job->run(1000));
  EXPECT_EQ(member(1).protocol.acquires, 0u);
  ++sequence;
  EXPECT_TRUE(job->run());
  EXPECT_EQ(job->waiting(), 0u);
  EXPECT_EQ(member(1).protocol.knows(7), 10u);
}

TEST_F(LockTableTest, ALockThatStaysAtItsRankCostsNothing) {
  join(3);
  for (const std::uint32_t lock : {1u, 4u, 4u, 598u}) {
    EXPECT_TRUE(ends(1, take(member(1), LockId{lock})));
  }
  EXPECT_EQ(member(1).count(trace::Counter::lock_acquisitions), 4u);
  EXPECT_EQ(member(1).count(trace::Counter::lock_handovers), 0u);
  EXPECT_EQ(member(1).count(trace::Counter::remote_operations), 0u);
  EXPECT_EQ(member(1).protocol.acquires, 0u);
  EXPECT_EQ(member(1).protocol.releases, 4u);
}

// Requests of the lock's holder to this rank in the meantime need not wake the service thread.
TEST_F(LockTableTest, WhoeverWaitsForALockSaysThatItLooksForArrivals) {
  join(2);
  Event let_go;
  EXPECT_FALSE(ends(0, hold(member(0), LockId{0}, &let_go)));
  EXPECT_EQ(member(0).seen.looks(), 0);
  EXPECT_FALSE(ends(1, take(member(1), LockId{0})));
  EXPECT_EQ(member(1).seen.looks(), 1);
  EXPECT_EQ(member(1).seen.sent_without_looks(), 0u);
  let_go.set();
  EXPECT_TRUE(job->run());
  EXPECT_EQ(job->waiting(), 0u);
  EXPECT_EQ(member(1).seen.looks(), 0);
}

TEST_F(LockTableTest, LocksDoNotWaitForEachOther) {
  join(2);
  Event let_go;
  EXPECT_FALSE(ends(0, hold(member(0), LockId{2}, &let_go)));
  for (const std::uint32_t lock : {0u, 1u, 3u, 258u, 599u}) {
    EXPECT_TRUE(ends(0, take(member(0), LockId{lock}))) << "lock " << lock;
    EXPECT_TRUE(ends(1, take(member(1), LockId{lock}))) << "lock " << lock;
  }
  let_go.set();
  EXPECT_TRUE(job->run());
  EXPECT_EQ(job->waiting(), 0u);
}

Task<> log_inside(Member& member, LockId lock, char name, std::string* log) {
  co_await member.locks.lock(lock);
  *log += name;
  co_await fabric::sim::think(5000);
  *log += name;
  co_await member.locks.unlock(lock);
}

// The first member fetches the lock from its initial home, the rest find it at their rank.
TEST_F(LockTableTest, TasksOfOneRankTakeTurnsInTheirOrder) {
  join(2);
  std::string log;
  for (const char name : {'a', 'b', 'c', 'd'}) {
    job->play(0, log_inside(member(0), LockId{1}, name, &log));
  }
  EXPECT_TRUE(job->run());
  EXPECT_EQ(job->waiting(), 0u);
  EXPECT_EQ(log, "aabbccdd");
  EXPECT_EQ(member(0).count(trace::Counter::lock_acquisitions), 4u);
  EXPECT_EQ(member(0).count(trace::Counter::lock_handovers), 1u);
  EXPECT_EQ(member(0).protocol.acquires, 1u);
}

TEST_F(LockTableTest, ATryBringsTheNoticesOfTheRankBefore) {
  join(2);
  bool taken = false;
  EXPECT_TRUE(ends(0, write_inside(member(0), LockId{0}, 7, 10)));
  EXPECT_TRUE(ends(1, try_it(member(1), LockId{0}, &taken)));
  EXPECT_TRUE(taken);
  EXPECT_EQ(member(1).protocol.knows(7), 10u);
  EXPECT_EQ(member(1).count(trace::Counter::lock_acquisitions), 1u);
  EXPECT_EQ(member(1).count(trace::Counter::lock_handovers), 1u);
  EXPECT_TRUE(ends(1, try_it(member(1), LockId{0}, &taken)));
  EXPECT_TRUE(taken);
  EXPECT_EQ(member(1).count(trace::Counter::lock_handovers), 1u);
}

TEST_F(LockTableTest, ATryOfAHeldLockComesBackWithoutIt) {
  join(2);
  Event let_go;
  bool taken[2]{true, true};
  EXPECT_FALSE(ends(0, hold(member(0), LockId{0}, &let_go)));
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(ends(rank, try_it(member(rank), LockId{0}, &taken[rank])));
    EXPECT_FALSE(taken[rank]) << "rank " << rank;
  }
  EXPECT_EQ(member(0).count(trace::Counter::remote_operations), 0u);
  EXPECT_EQ(member(1).count(trace::Counter::lock_acquisitions), 0u);
  EXPECT_EQ(member(1).protocol.acquires, 0u);
  let_go.set();
  EXPECT_TRUE(job->run());
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(ends(rank, take(member(rank), LockId{0}))) << "the try left a trace";
  }
}

Task<> look_inside(Member& member, Member& other, LockId lock, std::uint64_t block, std::uint64_t* known) {
  co_await member.locks.lock(lock);
  EXPECT_EQ(other.protocol.releases, 1u) << "the release is still under way";
  *known = member.protocol.knows(block);
  co_await member.locks.unlock(lock);
}

// Whether the next holder waits at the same rank or at another.
TEST_F(LockTableTest, UnlockReleasesBeforeItGivesTheLockAway) {
  for (const std::uint32_t next : {0u, 1u}) {
    join(2);
    Event let_go;
    std::uint64_t known = 0;
    bool taken = true;
    EXPECT_FALSE(ends(0, hold(member(0), LockId{0}, &let_go)));
    EXPECT_FALSE(ends(next, look_inside(member(next), member(0), LockId{0}, 7, &known)));
    member(0).protocol.write(7, 10);
    member(0).protocol.release_ns = 1'000'000;
    let_go.set();
    job->play(1 - next, try_it(member(1 - next), LockId{0}, &taken));
    EXPECT_TRUE(job->run());
    EXPECT_EQ(job->waiting(), 0u);
    EXPECT_EQ(known, 10u) << "at rank " << next;
    EXPECT_FALSE(taken);
  }
}

struct Truth {
  unsigned inside = 0;
  std::uint64_t newest = 0;
};

Task<> write_in_turn(SimJob& job, Member& member, Truth* truths, unsigned operations) {
  Random& random = job.world().random();
  for (unsigned i = 0; i < operations; ++i) {
    co_await fabric::sim::think(random.below(5000));
    const LockId lock{static_cast<std::uint32_t>(random.below(3))};
    bool taken = true;
    if (random.chance(30)) {
      taken = co_await member.locks.try_lock(lock);
    } else {
      co_await member.locks.lock(lock);
    }
    if (!taken) continue;
    Truth& truth = truths[lock.value];
    EXPECT_EQ(++truth.inside, 1u) << "lock " << lock.value;
    EXPECT_EQ(member.protocol.knows(lock.value), truth.newest) << "lock " << lock.value;
    member.protocol.write(lock.value, ++truth.newest);
    co_await fabric::sim::think(random.below(2000));
    --truth.inside;
    co_await member.locks.unlock(lock);
  }
}

TEST_F(LockTableTest, WhoeverTakesALockKnowsAllThatWasWrittenInsideIt) {
  for (std::uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::uint32_t ranks = static_cast<std::uint32_t>(random.between(2, 5));
    join(ranks, seed, draw_behaviour(random));
    Truth truths[3];
    for (std::uint32_t i = 0; i < 2 * ranks; ++i) {
      member(i % ranks).protocol.release_ns = random.below(3000);
      job->play(i % ranks, write_in_turn(*job, member(i % ranks), truths, 15));
    }
    ASSERT_TRUE(job->run()) << "no end in sight";
    ASSERT_EQ(job->waiting(), 0u) << "tasks wait for ever";
  }
}

}  // namespace
}  // namespace musubi::sync
