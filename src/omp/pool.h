// The threads of this rank that serve teams, and the crew of each team. A thread sleeps until a crew gives it
// a member's part. Waits only on words of the process.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/spin_lock.h"
#include "omp/tasks/bell.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

class Team;
class Crew;

class Pool {
 public:
  class Worker;
  // A thread's part of a region; `index` counts the rank's members of the team from 0. Ends with
  // worker.rest().
  using Part = void (*)(Team& team, std::uint32_t index, Worker& worker);

  Pool(runtime::Runtime& runtime, Part part) : runtime_(runtime), part_(part) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Threads that serve a crew now. Any thread.
  std::uint32_t busy() const noexcept { return busy_.load(std::memory_order_relaxed); }

  // Ends the threads that serve no crew: their thread-local objects are destroyed, and their stacks are free.
  // Waits for that. Any thread.
  void end_idle();

  // Per rank, with the one that runs main or represents the rank.
  static constexpr std::uint32_t threads_max = 4096;

 private:
  friend class Crew;

  // Null: no thread is idle.
  Worker* take_idle();
  // A thread for a crew. Any thread; ends the job if there can be no more.
  Worker& take();
  // Takes a list of threads back.
  void give_back(Worker* first, Worker* last, std::uint32_t count);
  Worker& create();
  // Of a thread that has ended, or a new one.
  Worker& make_worker();
  static void* run(void* worker);

  runtime::Runtime& runtime_;
  const Part part_;
  std::atomic<std::uint32_t> numbers_{1};  // given to workers and to the first thread
  std::atomic<std::uint32_t> threads_{1};
  std::atomic<std::uint32_t> busy_{0};
  SpinLock lock_;
  Worker* idle_ MUSUBI_GUARDED_BY(lock_) = nullptr;  // the last one given back first
  Worker* ended_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

// The members of one team on this rank, except for the thread that opens the region or represents the rank:
// that thread makes all calls.
class Crew {
 public:
  explicit Crew(Pool& pool) : pool_(pool) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Makes sure that there are `members` members, including the calling thread. A member of the same index
  // stays the same thread until disband().
  void reserve(std::uint32_t members);
  // Gives all threads back. REQUIRES: they are done.
  void disband();
  // Starts members 1 .. members-1. REQUIRES: reserve(members) before; all earlier work is done.
  void start(Team& team, std::uint32_t members) { start(&team, members); }
  // Whether they are done with their parts. The bell with which they rest is rung for the last one.
  bool are_done(std::uint32_t members) const noexcept {
    return members == 1 || done_.load(std::memory_order_acquire) == members - 1;
  }

  // The idle threads of the pool and the members tell the tool that they end; no region may follow.
  void tell_ends();

 private:
  friend class Pool;

  void add(Pool::Worker& worker);
  // `team`: null if the threads tell the tool that they end.
  void start(Team* team, std::uint32_t members);

  Pool& pool_;
  Pool::Worker* first_ = nullptr;
  Pool::Worker* last_ = nullptr;
  std::uint32_t members_ = 1;
  alignas(64) std::atomic<std::uint32_t> done_{0};
  std::uint32_t expected_ = 0;
};

class Pool::Worker {
 public:
  // Its part is done, and counts as such. Then calls `wait`(over), which may return once over() is true: the
  // thread has new orders, and `bell` was rung. The thread may belong to another crew.
  template <class Wait>
  void rest(Bell& bell, Wait wait) {
    bell_ = &bell;
    is_resting_.store(true);
    count_as_done();
    wait([this] { return orders_.load(std::memory_order_acquire) != served_; });
    is_resting_.store(false);
  }

 private:
  friend class Pool;
  friend class Crew;
  void count_as_done();

  Pool* pool_;
  pthread_t thread_;
  std::uint32_t number_;
  bool is_bound_;  // it has the binding of the rank
  runtime::ThreadStack stack_;
  Worker* next_ = nullptr;  // in its crew, or in the pool
  Crew* crew_ = nullptr;
  Team* team_ = nullptr;  // null: the thread tells the tool that it ends
  bool leaves_ = false;   // and does so
  std::uint32_t index_ = 0;
  std::uint32_t served_ = 0;
  std::atomic<Bell*> bell_{nullptr};
  std::atomic<bool> is_resting_{false};
  alignas(64) std::atomic<std::uint32_t> orders_{0};
};

}  // namespace musubi::omp
