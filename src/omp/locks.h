// Locks of OpenMP: critical sections, the atomic fallback, and the locks of the program. One table says which
// lock of the runtime serves whom.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include "base/ids.h"
#include "base/spin_lock.h"
#include "omp/team_words.h"
#include "runtime/runtime.h"

namespace musubi::omp {

namespace lock_ids {
inline constexpr std::uint32_t unnamed_critical = 0;
inline constexpr std::uint32_t atomic = 1;
inline constexpr std::uint32_t first_named = 16;
inline constexpr std::uint32_t first_user = first_named + words::lock_name_count;
inline constexpr std::uint32_t end = runtime::Synchronization::lock_count;
static_assert(first_user < end);
}  // namespace lock_ids

class Locks {
 public:
  Locks(runtime::Runtime& runtime, TeamWords& words)
      : runtime_(runtime), in_one_memory_(runtime.synchronization().processor_locks()), words_(words) {}

  // Mutual exclusion in the job; acquire and release of shared memory with several ranks. A waiting thread
  // sleeps. `variable`: the program's, for reports; or null.
  void lock(LockId lock, const void* variable = nullptr);
  bool try_lock(LockId lock);
  void unlock(LockId lock);

  // The lock of the critical section whose name is the variable at `name`; every rank gives the same answer,
  // and two names never share a lock (nested sections would lock up). Ends the job when 4080 names are in
  // use.
  LockId named(const void* name);

  // A lock for omp_init_lock, taken from those destroyed on this rank or never used. Ends the job when none
  // is left.
  LockId allocate();
  void give_back(LockId lock);

 private:
  static constexpr std::uint32_t user_locks = lock_ids::end - lock_ids::first_user;

  void take(LockId lock);

  runtime::Runtime& runtime_;
  runtime::ProcessorLocks* const in_one_memory_;  // null: there is none
  TeamWords& words_;
  // What this rank knows of the table of names.
  std::array<std::atomic<std::uint64_t>, words::lock_name_count> known_names_{};
  SpinLock free_guard_;
  std::uint32_t free_count_ = 0;
  std::array<std::uint16_t, user_locks> free_;
};

// omp_lock_t as it lies in the program's memory: 4 bytes, the lock's id + 1. Zero is a lock nobody
// initialised; the first use then does it, since libgomp lets such programs pass.
using LockWord = std::uint32_t;

// omp_nest_lock_t: 16 bytes. The owner is a task, not a thread: every explicit task and every implicit one
// has its mark. `owner` and `depth` are written by the holder only. A stale `owner` never equals the reader's
// mark: no mark is used twice, and each task clears what it wrote before it lets go.
struct NestLockWord {
  LockWord lock;
  std::uint32_t depth;
  std::uint64_t owner;
};
static_assert(sizeof(NestLockWord) == 16);

// What a Fortran variable of omp_nest_lock_kind holds: gfortran gives it 8 bytes, too few for the lock
// itself.
using NestLockHandle = NestLockWord*;

void initialise_lock(LockWord& word);
void destroy_lock(LockWord& word);
void set_lock(LockWord& word);
bool test_lock(LockWord& word);
void unset_lock(LockWord& word);

void initialise_nest_lock(NestLockWord& word);
void destroy_nest_lock(NestLockWord& word);
void set_nest_lock(NestLockWord& word);
// Result: the new depth, 0 when another task holds the lock.
std::uint32_t test_nest_lock(NestLockWord& word);
void unset_nest_lock(NestLockWord& word);

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
