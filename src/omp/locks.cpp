#include "omp/locks.h"

#include <atomic>

#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

void Locks::lock(LockId lock, const void* variable) {
  if (in_one_memory_ == nullptr || !in_one_memory_->try_lock(lock)) {
    const runtime::Waiting wait(runtime::Wait::lock, lock.value, reinterpret_cast<std::uintptr_t>(variable));
    take(lock);
  }
  runtime::note_lock_taken(lock.value);
}

void Locks::take(LockId lock) {
  if (in_one_memory_ != nullptr) return in_one_memory_->lock(lock);
  settle_singles(Before::lock);
  runtime_.synchronization().lock(lock);
}

bool Locks::try_lock(LockId lock) {
  if (in_one_memory_ == nullptr) settle_singles(Before::lock);
  const bool taken =
      in_one_memory_ != nullptr ? in_one_memory_->try_lock(lock) : runtime_.synchronization().try_lock(lock);
  if (!taken) return false;
  runtime::note_lock_taken(lock.value);
  return true;
}

void Locks::unlock(LockId lock) {
  runtime::note_lock_given_back(lock.value);
  if (in_one_memory_ != nullptr) return in_one_memory_->unlock(lock);
  runtime_.synchronization().unlock(lock);
}

LockId Locks::at(const void* variable, LockUnit unit) {
  const bool shared = runtime_.memory().is_shared(reinterpret_cast<std::uintptr_t>(variable));
  return at_all_ranks(variable, unit, shared ? 0 : std::uint64_t{runtime_.self().value} + 1);
}

// `owner`: 0 for a lock of the job.
LockId Locks::at_all_ranks(const void* variable, LockUnit unit, std::uint64_t owner) {
  using runtime::Synchronization;
  const std::uint64_t unit_number = reinterpret_cast<std::uintptr_t>(variable) >> shift_of(unit);
  const std::uint64_t piece = unit_number / Synchronization::locks_of_piece;
  const std::uint64_t place =
      place_of(piece | std::uint64_t{static_cast<std::uint8_t>(unit)} << 40 | owner << 48);
  // A one-to-one mapping: locks at regular distances get numbers without a common divisor, so that all ranks
  // become homes.
  std::uint64_t index = unit_number % Synchronization::locks_of_piece;
  for (const unsigned bits : {1, 2, 4}) index ^= index >> bits;
  const std::uint64_t number = place * Synchronization::locks_of_piece + index;
  return LockId{lock_ids::first_at_address + static_cast<std::uint32_t>(number)};
}

// The place of a piece of memory in the table of all ranks. The first rank to use the piece has written its
// number, not 0, there.
std::uint64_t Locks::place_of(std::uint64_t piece) {
  std::uint64_t place = (piece * 0x9e3779b97f4a7c15u >> 32) % pieces;
  for (std::uint64_t probes = 0; probes < pieces; ++probes) {
    const std::atomic_ref known(known_[place]);
    std::uint64_t owner = known.load(std::memory_order_relaxed);
    if (owner == 0) {
      const Rank home{static_cast<std::uint32_t>(place % runtime_.ranks())};
      owner = runtime_.words().compare_swap(home, runtime::Words::count + place / runtime_.ranks(), 0, piece);
      if (owner == 0) owner = piece;
      known.store(owner, std::memory_order_relaxed);
    }
    if (owner == piece) return place;
    place = (place + 1) % pieces;
  }
  end_job(runtime_,
          "the program has locks in more pieces of memory than the job can tell apart (4194304): place locks "
          "closer together");
}

namespace {

std::uint64_t mark_of(std::uint64_t& given) {
  if (given == 0) {
    Job& job = Job::require("an OpenMP lock");
    given = (job.marks.fetch_add(1, std::memory_order_relaxed) + 1) | std::uint64_t{job.self} << 48;
  }
  return given;
}

}  // namespace

std::uint64_t task_mark() {
  return mark_of(current_task().mark);
}

std::uint64_t thread_mark() {
  return mark_of(this_thread().mark);
}

void set_lock(const void* lock, LockUnit unit) {
  Locks& locks = Job::require("an OpenMP lock").locks;
  if (unit == LockUnit::word) events::mutex_wanted(events::Mutex::lock, lock);
  locks.lock(locks.at(lock, unit), lock);
  if (unit == LockUnit::word) events::mutex_taken(events::Mutex::lock, lock);
}

bool test_lock(const void* lock, LockUnit unit) {
  Locks& locks = Job::require("an OpenMP lock").locks;
  if (unit == LockUnit::word) events::mutex_wanted(events::Mutex::test_lock, lock);
  const bool taken = locks.try_lock(locks.at(lock, unit));
  if (unit == LockUnit::word && taken) events::mutex_taken(events::Mutex::test_lock, lock);
  return taken;
}

void unset_lock(const void* lock, LockUnit unit) {
  Locks& locks = Job::require("an OpenMP lock").locks;
  locks.unlock(locks.at(lock, unit));
  if (unit == LockUnit::word) events::mutex_given_back(events::Mutex::lock, lock);
}

void initialise_nest_lock(NestLockWord& word) {
  word.depth = 0;
  word.owner = 0;
}

bool holds_nest_lock(const NestLockWord& word, std::uint64_t mark) {
  return __atomic_load_n(&word.owner, __ATOMIC_RELAXED) == mark;
}

void set_nest_lock(NestLockWord& word, LockUnit unit, std::uint64_t mark) {
  const bool of_openmp = unit == LockUnit::nest_lock;
  if (of_openmp) events::mutex_wanted(events::Mutex::nest_lock, &word);
  if (!holds_nest_lock(word, mark)) {
    set_lock(&word, unit);
    __atomic_store_n(&word.owner, mark, __ATOMIC_RELAXED);
    if (of_openmp) events::mutex_taken(events::Mutex::nest_lock, &word);
  } else if (of_openmp) {
    events::nested(true, &word);
  }
  ++word.depth;
}

std::uint32_t test_nest_lock(NestLockWord& word, LockUnit unit, std::uint64_t mark) {
  const bool of_openmp = unit == LockUnit::nest_lock;
  if (of_openmp) events::mutex_wanted(events::Mutex::test_nest_lock, &word);
  if (!holds_nest_lock(word, mark)) {
    if (!test_lock(&word, unit)) return 0;
    __atomic_store_n(&word.owner, mark, __ATOMIC_RELAXED);
    if (of_openmp) events::mutex_taken(events::Mutex::test_nest_lock, &word);
  } else if (of_openmp) {
    events::nested(true, &word);
  }
  return ++word.depth;
}

void unset_nest_lock(NestLockWord& word, LockUnit unit) {
  const bool of_openmp = unit == LockUnit::nest_lock;
  if (--word.depth != 0) {
    if (of_openmp) events::nested(false, &word);
    return;
  }
  __atomic_store_n(&word.owner, 0, __ATOMIC_RELAXED);
  unset_lock(&word, unit);
  if (of_openmp) events::mutex_given_back(events::Mutex::nest_lock, &word);
}

void initialise_nest_lock(NestLockHandle& handle) {
  handle = static_cast<NestLockHandle>(allocate_shared_zeroed(sizeof(NestLockWord), sizeof(NestLockWord)));
  initialise_nest_lock(*handle);
}

void destroy_nest_lock(NestLockHandle& handle) {
  if (handle == nullptr) return;
  free_shared(handle);
  handle = nullptr;
}

NestLockWord& lock_of(NestLockHandle handle) {
  if (handle == nullptr) {
    end_job(Job::require("an OpenMP lock").runtime,
            "an OpenMP lock holds no lock: call omp_init_nest_lock first");
  }
  return *handle;
}

void lock_named(const void* name) {
  Job* job = Job::current();
  if (job == nullptr) return;
  job->locks.lock(name == nullptr ? LockId{lock_ids::unnamed_critical} : job->locks.named(name), name);
}

void unlock_named(const void* name) {
  Job* job = Job::current();
  if (job == nullptr) return;
  job->locks.unlock(name == nullptr ? LockId{lock_ids::unnamed_critical} : job->locks.named(name));
}

void critical_begin(const void* name) {
  events::mutex_wanted(events::Mutex::critical, name);
  lock_named(name);
  events::mutex_taken(events::Mutex::critical, name);
}

void critical_end(const void* name) {
  unlock_named(name);
  events::mutex_given_back(events::Mutex::critical, name);
}

void atomic_begin() {
  events::mutex_wanted(events::Mutex::atomic, nullptr);
  if (Job* job = Job::current()) job->locks.lock(LockId{lock_ids::atomic});
  events::mutex_taken(events::Mutex::atomic, nullptr);
}

void atomic_end() {
  if (Job* job = Job::current()) job->locks.unlock(LockId{lock_ids::atomic});
  events::mutex_given_back(events::Mutex::atomic, nullptr);
}

}  // namespace musubi::omp
