// A team of more than one thread as one rank sees it: its members, their barrier, and the values that they
// agree on. A task points to its team; a team of one has no Team, so that a serialised region needs no
// object.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "omp/backoff.h"
#include "omp/placement.h"
#include "omp/pool.h"
#include "omp/process.h"  // for front ends that start the layer by this header
#include "omp/reduction_tree.h"
#include "omp/region.h"
#include "omp/team_words.h"
#include "omp/thread.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

// The barrier of a team's members on one rank. Waits only on words of the process.

// The rank's members of a team meet; the last one to arrive calls `last` for all.
class LocalBarrier {
 public:
  // A waiting thread calls `wait`(over), which returns once over() is true; `bell` is rung for that.
  template <class Last, class Wait>
  void arrive(Bell& bell, std::uint32_t members, Last last, Wait wait) {
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      generation_.store(generation + 1, std::memory_order_release);
      if (members > 1) bell.ring();
      return;
    }
    wait([&] { return generation_.load(std::memory_order_acquire) != generation; });
  }

  // The same if members may have left: a waiting thread loops over `pause` until the result is false. Result:
  // whether all arrived.
  template <class Last, class Pause>
  bool arrive_or_leave(std::uint32_t members, Last last, Pause pause) {
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
      arrived_.store(0, std::memory_order_relaxed);
      last();
      generation_.store(generation + 1, std::memory_order_release);
      return true;
    }
    while (generation_.load(std::memory_order_acquire) == generation) {
      if (!pause()) return false;
    }
    return true;
  }
  // Forgets members that have left. No thread may be inside.
  void reset() { arrived_.store(0, std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
};

// A value that a thread passes to its team at a barrier; two per rank, used alternately.
struct Broadcast {
  const std::size_t word;  // where the value is stored if its sender is not on rank 0
  std::atomic<std::uintptr_t> value{0};
  std::atomic<bool> sent{false};  // by a thread of this rank
};

struct InnerTeam;
class TravellingTasks;

class Team {
 public:
  // A team over the ranks of `words`. All outlive the team, which serves one region after the other. `words`:
  // used by no other open team. `inner_team`: the object around a team inside this rank, else null.
  Team(runtime::Runtime& runtime, TeamWords& words, Crew& crew, InnerTeam* inner_team);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Around a region. First thread of the rank, while no member works. REQUIRES: more than one member.
  // `opener`: the task around the region, for all members of a team inside this rank; null: members have
  // nothing around them but their own tasks.
  void open(const Region& region, ImplicitTask* opener);
  void close();
  ImplicitTask* opener() const noexcept { return opener_; }
  // Any thread.
  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }

  // While open.
  const Region& region() const noexcept { return region_; }
  std::uint32_t members_here() const noexcept { return members_here_; }
  // The rank's members that the previous team had, too; the other members' threads are new, or count as new:
  // threads of OpenMP end with the last team that needs them.
  std::uint32_t members_kept() const noexcept { return members_kept_; }
  // The threads of the last team have ended: all members of the next are new. While closed.
  void forget_threads() noexcept { region_.size = members_here_ = 0; }
  // The number of this rank's first member.
  std::uint32_t first_here() const noexcept { return placement_.first_on(self); }
  const Placement& placement() const noexcept { return placement_; }

  // A barrier inside the region, by every member; blocks until all have arrived. All members of a rank pass
  // the same broadcast. Result: whether the team met; false if the region was cancelled, and threads may not
  // have arrived.
  bool meet(Broadcast* broadcast);
  // The end of the region: the ranks meet. First thread of the rank, after its members are done and their
  // tasks have ended; blocks.
  void join();
  // The same for a rank without members: takes part in all barriers of the ranks up to the join.
  void attend();

  // Any member. Reads a word of rank 0 as long as the region is not cancelled.
  bool is_cancelled();
  void cancel();

  // First come, first served: true in one thread of the team per number. Every member asks for every number,
  // in ascending order.
  bool claim_single(std::uint32_t number);
  // The newest claimed single. While no member works.
  std::uint32_t newest_single();

  // The broadcast of that number; every member counts its own.
  Broadcast& broadcast_of(std::uint32_t number) noexcept { return broadcasts_[number % broadcasts_.size()]; }

  TeamReductions reductions;
  events::RegionNote* note = nullptr;  // of a tool, while open

  // The deferred tasks of the rank's members.
  TaskArena& tasks() noexcept { return tasks_; }

  // Of the team over the ranks; null: tasks do not travel. Set while the team is closed.
  TravellingTasks* travelling = nullptr;

  runtime::Runtime& runtime;
  TeamWords& words;
  Crew& crew;
  InnerTeam* const inner;
  const std::uint32_t ranks;
  const std::uint32_t self;
  const ThreadsOfRanks& threads() const noexcept { return threads_; }

 private:
  void meet_ranks(Broadcast* broadcast);
  void pass_ranks(runtime::BarrierPayload& payload);
  [[noreturn]] void report_disagreement();

  Region region_;
  ImplicitTask* opener_ = nullptr;
  const ThreadsOfRanks threads_;
  Placement placement_{1, threads_};
  std::uint32_t members_here_ = 0;
  std::uint32_t members_kept_ = 0;
  std::atomic<bool> open_{false};
  std::atomic<bool> cancelled_{false};         // as far as this rank knows
  std::atomic<std::uint32_t> last_single_{0};  // number of the last single that this rank asked for
  // Two, used alternately: the next but one is sent only after the next barrier, and by then every thread has
  // read this one.
  std::array<Broadcast, 2> broadcasts_{{{words::broadcasts}, {words::broadcasts + 1}}};
  LocalBarrier barrier_;
  TaskArena tasks_;
};

// #pragma omp barrier by the calling thread: with release and acquire of shared memory. If a thread sent a
// value by `broadcast`, all threads have it afterwards; all threads of a rank pass the same broadcast. A tool
// learns of it as `kind`. Result: whether the team met; false if the region was cancelled, and threads may
// not have arrived.
bool barrier(Broadcast* broadcast = nullptr, events::Sync kind = events::Sync::explicit_barrier);

}  // namespace musubi::omp
