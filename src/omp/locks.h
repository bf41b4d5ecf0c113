// Locks of OpenMP: critical sections, the atomic fallback, and the locks of the program. One table maps them
// to locks of the runtime.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/sparse_array.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

namespace lock_ids {
inline constexpr std::uint32_t unnamed_critical = 0;
inline constexpr std::uint32_t atomic = 1;
inline constexpr std::uint32_t thread_copies = 2;
inline constexpr std::uint32_t first_at_address = runtime::Synchronization::lock_count;
}  // namespace lock_ids

// Kinds of locks, with the minimal distance of two locks of one kind in bytes: the low bits are its binary
// logarithm.
enum class LockUnit : std::uint8_t {
  word = 2,
  nest_lock = 4,
  mutex = 5,
  waiting_writer = 8 | 5,  // a second lock for the mutex at the same address
  spin = 8 | 2,            // of POSIX
};
constexpr unsigned shift_of(LockUnit unit) {
  return static_cast<unsigned>(unit) & 7;
}

class Locks {
 public:
  explicit Locks(runtime::Runtime& runtime)
      : runtime_(runtime), in_one_memory_(runtime.synchronization().processor_locks()) {}

  // Mutual exclusion in the job; acquire and release of shared memory if there are several ranks. A waiting
  // thread sleeps. `variable`: the program's, for reports; or null.
  void lock(LockId lock, const void* variable = nullptr);
  bool try_lock(LockId lock);
  void unlock(LockId lock);

  // The lock of the variable at `variable`: a lock of the job if the ranks share that memory, else one of
  // this rank. Two variables of one kind never have the same lock, and the bytes there are irrelevant. All
  // ranks give the same answer, at any time (docs/decisions/locks.md). May wait for an answer of
  // another rank, once for each piece of memory. Ends the job if locks are in more pieces than the table has.
  LockId at(const void* variable, LockUnit unit);
  // The lock of the critical section whose name is the variable at `name`, which is the same for all ranks.
  LockId named(const void* name) { return at_all_ranks(name, LockUnit::word, 0); }

 private:
  static constexpr std::uint64_t pieces = runtime::Words::lock_pieces;

  LockId at_all_ranks(const void* variable, LockUnit unit, std::uint64_t owner);
  std::uint64_t place_of(std::uint64_t piece);
  void take(LockId lock);

  runtime::Runtime& runtime_;
  runtime::ProcessorLocks* const in_one_memory_;  // null: several memories
  SparseArray<std::uint64_t> known_{pieces};      // this rank's cached part of the table of pieces
};

// omp_lock_t in the program's memory. Its bytes are not used: the lock is identified by its address.
using LockWord = std::uint32_t;

// The lock of a nestable lock: its owner is a task, not a thread: every explicit and every implicit task has
// its mark. POSIX's recursive mutexes have the same layout; their owner is a thread. Only the holder writes
// `owner` and `depth`. A stale `owner` never equals the reader's mark: no mark is used twice, and each owner
// clears its mark before it unlocks.
struct NestLockWord {
  LockWord unused;
  std::uint32_t depth;
  std::uint64_t owner;
};
static_assert(sizeof(NestLockWord) == 16);

// omp_nest_lock_t, and omp_nest_lock_kind of Fortran: most compilers give it 8 bytes, too few for the lock
// itself, and gcc 16. One layout for all, since their objects may share a lock.
using NestLockHandle = NestLockWord*;

// These locks need neither initialisation nor destruction.
void set_lock(const void* lock, LockUnit unit = LockUnit::word);
bool test_lock(const void* lock, LockUnit unit = LockUnit::word);
void unset_lock(const void* lock, LockUnit unit = LockUnit::word);

// The mark of the task that the calling thread runs: different for any two tasks of the job.
std::uint64_t task_mark();
// The mark of the calling thread: different for any two threads of the job, and from marks of tasks.
std::uint64_t thread_mark();

void initialise_nest_lock(NestLockWord& word);
// `mark`: of the owner.
void set_nest_lock(NestLockWord& word, LockUnit unit = LockUnit::nest_lock, std::uint64_t mark = task_mark());
// Result: the new depth, 0 if another owner holds the lock.
std::uint32_t test_nest_lock(NestLockWord& word, LockUnit unit = LockUnit::nest_lock,
                             std::uint64_t mark = task_mark());
void unset_nest_lock(NestLockWord& word, LockUnit unit = LockUnit::nest_lock);
// Whether the owner with this mark holds the lock.
bool holds_nest_lock(const NestLockWord& word, std::uint64_t mark);

// The lock of a handle is in memory that all ranks reach.
void initialise_nest_lock(NestLockHandle& handle);
void destroy_nest_lock(NestLockHandle& handle);
// Ends the job if the handle was not initialised.
NestLockWord& lock_of(NestLockHandle handle);

// The lock of an object, without events for a tool.
void lock_named(const void* name);
void unlock_named(const void* name);
// Critical sections. `name` null: the unnamed one.
void critical_begin(const void* name);
void critical_end(const void* name);
// The region that replaces an atomic which is no single instruction.
void atomic_begin();
void atomic_end();

}  // namespace musubi::omp
