// Locks of OpenMP: critical sections, the atomic fallback, and the locks of the program. One table says which
// lock of the runtime serves whom.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/sparse_array.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

namespace lock_ids {
inline constexpr std::uint32_t unnamed_critical = 0;
inline constexpr std::uint32_t atomic = 1;
inline constexpr std::uint32_t first_at_address = runtime::Synchronization::lock_count;
}  // namespace lock_ids

// Kinds of locks, and bytes by which two of one kind lie apart at least: the low bits are a power of two.
enum class LockUnit : std::uint8_t {
  word = 2,
  nest_lock = 4,
  mutex = 5,
  waiting_writer = 8 | 5,  // another lock than the mutex at the same place
};
constexpr unsigned shift_of(LockUnit unit) {
  return static_cast<unsigned>(unit) & 7;
}

class Locks {
 public:
  explicit Locks(runtime::Runtime& runtime)
      : runtime_(runtime), in_one_memory_(runtime.synchronization().processor_locks()) {}

  // Mutual exclusion in the job; acquire and release of shared memory with several ranks. A waiting thread
  // sleeps. `variable`: the program's, for reports; or null.
  void lock(LockId lock, const void* variable = nullptr);
  bool try_lock(LockId lock);
  void unlock(LockId lock);

  // The lock whose variable lies at `variable`: a lock of the job where the ranks share that memory, else one
  // of this rank. Two variables of one kind never have the same lock, and the bytes there do not matter. All
  // ranks give the same answer, at any time (docs/decisions/locks_by_address.md). May wait for an answer of
  // another rank, once for each piece of memory. Ends the job when locks lie in more pieces than the table
  // has.
  LockId at(const void* variable, LockUnit unit);
  // The lock of the critical section whose name is the variable at `name`, which is the same for all ranks.
  LockId named(const void* name) { return at_all_ranks(name, LockUnit::word, 0); }

 private:
  static constexpr std::uint64_t pieces = runtime::Words::lock_pieces;

  LockId at_all_ranks(const void* variable, LockUnit unit, std::uint64_t owner);
  std::uint64_t place_of(std::uint64_t piece);
  void take(LockId lock);

  runtime::Runtime& runtime_;
  runtime::ProcessorLocks* const in_one_memory_;  // null: there is none
  SparseArray<std::uint64_t> known_{pieces};      // what this rank has seen of the table of pieces
};

// omp_lock_t as it lies in the program's memory. Its bytes are not used: the lock is known by its address.
using LockWord = std::uint32_t;

// omp_nest_lock_t: 16 bytes. Its owner is a task, not a thread: every explicit task and every implicit one
// has its mark. POSIX's recursive mutexes lie in memory in the same way; their owner is a thread. `owner` and
// `depth` are written by the holder only. A stale `owner` never equals the reader's mark: no mark is used
// twice, and each owner clears what it wrote before it lets go.
struct NestLockWord {
  LockWord unused;
  std::uint32_t depth;
  std::uint64_t owner;
};
static_assert(sizeof(NestLockWord) == 16);

// What a Fortran variable of omp_nest_lock_kind holds: gfortran gives it 8 bytes, too few for the lock
// itself.
using NestLockHandle = NestLockWord*;

// They need no initialisation, and nothing is left to destroy.
void set_lock(const void* lock, LockUnit unit = LockUnit::word);
bool test_lock(const void* lock, LockUnit unit = LockUnit::word);
void unset_lock(const void* lock, LockUnit unit = LockUnit::word);

// Different for any two tasks of the job: of the one that the calling thread runs.
std::uint64_t task_mark();
// Different for any two threads of the job, and from marks of tasks: of the calling thread.
std::uint64_t thread_mark();

void initialise_nest_lock(NestLockWord& word);
// `mark`: of the owner.
void set_nest_lock(NestLockWord& word, LockUnit unit = LockUnit::nest_lock, std::uint64_t mark = task_mark());
// Result: the new depth, 0 when another one holds the lock.
std::uint32_t test_nest_lock(NestLockWord& word, LockUnit unit = LockUnit::nest_lock,
                             std::uint64_t mark = task_mark());
void unset_nest_lock(NestLockWord& word, LockUnit unit = LockUnit::nest_lock);
// Whether the owner with this mark holds the lock.
bool holds_nest_lock(const NestLockWord& word, std::uint64_t mark);

// The lock behind a handle lies in memory that all ranks reach.
void initialise_nest_lock(NestLockHandle& handle);
void destroy_nest_lock(NestLockHandle& handle);
// Ends the job when the handle was not initialised.
NestLockWord& lock_of(NestLockHandle handle);

// Critical sections. `name` null: the unnamed one.
void critical_begin(const void* name);
void critical_end(const void* name);
// The region that stands for an atomic which is no single instruction.
void atomic_begin();
void atomic_end();

}  // namespace musubi::omp
