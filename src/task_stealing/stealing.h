// Tasks that travel between ranks: a rank whose threads wait asks other ranks for tasks, runs them, and
// reports their ends (docs/design/tasks.md). No I/O, no clock, no thread of its own:
//
// - members, the threads that make and run tasks, call the functions that do not wait;
// - one assistant of the rank calls turn() again and again, and sleeps in between until the bell rings;
// - answer() serves the messages of other ranks, on any thread, several at once.
//
// A task may go from rank to rank until it starts; the rank that runs it reports to its home, which made it.
// A thread that waits for a task, or for a group, may run what descends from the task alone. So that this
// wait ends, it must be able to get all that descends from it and has not started, wherever that is: it asks
// the ranks that have its tasks, and these ask on. Then no circle of waits can close: each wait is for a
// descendant, and the innermost task that waits can run all that it waits for.
//
// A task that no rank steals costs no release. The victim releases when it is robbed, unless a release covers
// the writes before the task's creation already; the thief releases before it reports, mostly once, when the
// task and all that it made have ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/spin_lock.h"
#include "base/task.h"
#include "hooks/hooks.h"
#include "task_stealing/absent_tasks.h"
#include "task_stealing/meeting.h"
#include "task_stealing/parcel.h"
#include "task_stealing/payoff.h"
#include "task_stealing/ports.h"
#include "task_stealing/victims.h"
#include "trace/counters.h"

namespace musubi::task_stealing {

struct Place {
  Rank self;
  std::uint32_t ranks = 1;
  std::vector<Rank> near;  // the other ranks of this host
  std::uint64_t seed = 0;
};

struct Habits {
  bool always = false;                // steals whether that pays or not
  std::uint64_t look_ns = 1'000'000;  // of stolen work, after which the rank judges whether it stalls
};

// One object per rank. Everything that the constructor gets outlives it.
class Stealing {
 public:
  struct Ports {
    Calls& calls;
    Order& order;
    LocalTasks& tasks;
    Bell& bell;
    trace::Counters& counters;
  };
  Stealing(Place place, const Habits& habits, Ports ports, Hooks hooks = {});

  // ---- members: any thread, no wait ----
  //
  // For a task that is being made: a release that begins from now on covers its creator's writes.
  std::uint64_t epoch() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return releases_begun_.load(std::memory_order_seq_cst);
  }
  // A stolen task has ended, or all that it made has, or both; or an event of another rank is fulfilled.
  void report(const Origin& origin, Reported what);
  // Around each task that is stolen (LocalTasks::giver_of_ready). `ns`: it has run so long on its processor,
  // waits not counted.
  void work_begins() noexcept {
    if (running_.fetch_add(1) == 0) bell_.ring();
  }
  void work_ends(std::uint64_t ns) noexcept {
    running_.fetch_sub(1);
    payoff_.note_work(ns);
  }
  // A thread waits and finds no task here that it may run.
  void note_hungry() noexcept { bell_.ring(); }
  // A thread waits for the tasks that have left for which wanted(task) holds, or for what they have made, and
  // may run nothing else: asks the ranks that have them, again and again, until forget_wishes().
  template <class Wanted>
  void want_back(Wanted wanted) {
    add_wishes(wanted, true);
  }
  // No thread waits so any more.
  void forget_wishes();
  // The task of this rank that has left under that number; 0: none.
  std::uint64_t absent_task(std::uint64_t number) { return absent_.task_of(number); }
  // LocalTasks::is_open() again.
  void note_open() noexcept {
    if (early_count_.load() != 0) bell_.ring();
  }
  // Whether another rank waits for tasks of this one. Cheap.
  bool is_awaited() const noexcept { return awaited_.load(std::memory_order_relaxed) != 0; }
  // There are more tasks than threads here, and another rank waits for them, or LocalTasks leaves stolen
  // work.
  void note_surplus() noexcept { bell_.ring(); }

  // ---- meetings: one thread per rank at a time ----
  //
  // The rank's threads have come, and its tasks have ended, as have all that left. Result: the number for the
  // following two. The meeting may be over at once.
  Task<std::uint64_t> come();
  bool is_over(std::uint64_t meeting) const noexcept { return meeting_.is_over(meeting); }
  // Call it once is_over(): tells the next ranks.
  Task<> pass_on(std::uint64_t meeting);

  // ---- the assistant ----
  //
  // Sends and asks whatever is due. Result: nanoseconds until the next call, unless the bell rings earlier.
  static constexpr std::uint64_t until_bell = ~std::uint64_t{0};
  Task<std::uint64_t> turn(std::uint64_t now_ns);

  // ---- messages of other ranks ----
  //
  // Result: bytes of the answer; none: the message is damaged, and nothing of it was used.
  Task<std::optional<std::size_t>> answer(Rank from, std::span<const std::byte> request,
                                          std::span<std::byte> answer);

  // Tasks that have left and whose subtrees have not ended. For tests.
  std::size_t absent() { return absent_.count(); }

 private:
  struct PendingReport {
    Origin origin;
    Reported what;
    Rank holder;          // moved
    std::uint64_t epoch;  // that a release must cover first; nothing: `moved`
  };
  struct Wish {
    std::uint64_t number;  // of an absent task
    bool stays;            // until the thread that waits forgets it; false: another rank asks again
  };
  // Tasks that came while the rank was not open.
  struct EarlyParcel {
    Rank from;
    std::vector<std::byte> bytes;
  };
  struct Peer {
    std::uint64_t stamp = 0;  // of this rank's releases, as the peer told it
    bool waits = false;       // for tasks of this rank
  };

  Task<> cover(std::uint64_t epoch);
  bool is_covered(std::uint64_t epoch) const noexcept { return releases_ended_.load() > epoch; }
  void add_news(Rank peer, ParcelWriter& parcel);
  void note_stamp(Rank peer, std::uint64_t stamp);
  Task<> add_reports(Rank peer, ParcelWriter& parcel);
  Task<> add_tasks(Rank thief, std::uint32_t count, const Choice& choice, ParcelWriter& parcel);
  Task<bool> receive_tasks(Rank from, std::span<const std::byte> bytes);
  Task<bool> accept(Rank from, const ParcelView& parcel);
  Task<> accept_early();
  bool count_reports(const ParcelView& parcel);
  bool count_end(const Report& report);
  template <class Wanted>
  void add_wishes(Wanted wanted, bool stay) {
    std::vector<std::uint64_t> numbers;
    absent_.for_each([&](std::uint64_t number, std::uint64_t task) {
      if (wanted(task)) numbers.push_back(number);
    });
    add_wishes(numbers, stay);
  }
  void add_wishes(const std::vector<std::uint64_t>& numbers, bool stay);
  Task<std::uint32_t> ask(Rank victim, std::uint64_t below, bool parks);
  Task<std::uint64_t> ask_for_wishes(std::uint64_t now_ns);
  Task<std::uint64_t> seek(std::uint64_t now_ns);
  void count_waiting(Rank peer, bool waits);
  Task<> wait_at_neighbours();
  Task<> send_reports();
  Task<> push();
  Task<> send_tasks(Rank to, ParcelWriter& parcel);
  Task<std::uint64_t> look_at_work(std::uint64_t now_ns);
  Task<> send_back();
  std::optional<Rank> next_waiting();
  Task<> send_step(Rank to, Step step, std::uint64_t meeting);
  Task<bool> take_step(Rank from, const ParcelHead& head);
  void begin_next_meeting();

  const Place place_;
  const Habits habits_;
  Calls& calls_;
  Order& order_;
  LocalTasks& tasks_;
  Bell& bell_;
  trace::Counters& counters_;
  [[no_unique_address]] const Hooks hooks_;

  std::atomic<std::uint64_t> releases_begun_{0};
  std::atomic<std::uint64_t> releases_ended_{0};  // the newest that has ended
  AbsentTasks absent_;
  Meeting meeting_;
  Payoff payoff_;
  Victims victims_;                  // of the assistant
  std::uint64_t rest_until_ns_ = 0;  // of fine tasks
  std::uint16_t tasks_wanted_ = 1;   // at once
  std::uint64_t next_wish_ns_ = 0;
  std::uint64_t wish_pause_ns_ = 0;
  std::atomic<bool> parked_{false};        // at the neighbours
  std::atomic<bool> pushed_{false};        // tasks have come from one of them
  std::atomic<std::uint32_t> awaited_{0};  // peers that wait
  std::atomic<std::uint32_t> running_{0};  // stolen tasks
  bool sends_back_ = false;                // of the assistant
  SpinLock lock_;
  std::vector<PendingReport> reports_ MUSUBI_GUARDED_BY(lock_);
  std::vector<Wish> wishes_ MUSUBI_GUARDED_BY(lock_);
  std::vector<EarlyParcel> early_ MUSUBI_GUARDED_BY(lock_);
  std::atomic<std::size_t> early_count_{0};
  std::vector<Peer> peers_ MUSUBI_GUARDED_BY(lock_);
};

}  // namespace musubi::task_stealing
