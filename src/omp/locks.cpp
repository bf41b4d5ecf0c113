#include "omp/locks.h"

#include "omp/job.h"
#include "omp/open_singles.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"
#include "runtime/waiting.h"

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

LockId Locks::named(const void* name) {
  const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(name));
  std::size_t place = (key * 0x9e3779b97f4a7c15u >> 32) % words::lock_name_count;
  for (std::size_t probes = 0; probes < words::lock_name_count; ++probes) {
    const LockId lock{static_cast<std::uint32_t>(lock_ids::first_named + place)};
    std::uint64_t owner = known_names_[place].load(std::memory_order_relaxed);
    if (owner == 0) {
      owner = words_.compare_swap(Rank{0}, words::lock_names + place, 0, key);
      if (owner == 0) owner = key;
      known_names_[place].store(owner, std::memory_order_relaxed);
    }
    if (owner == key) return lock;
    place = (place + 1) % words::lock_name_count;
  }
  end_job(runtime_,
          "the program uses more than 4080 named critical sections: give some of them the same name");
}

LockId Locks::allocate() {
  free_guard_.lock();
  const bool found = free_count_ > 0;
  const std::uint32_t used_before = found ? free_[--free_count_] : 0;
  free_guard_.unlock();
  if (found) return LockId{lock_ids::first_user + used_before};
  const std::uint64_t number = words_.fetch_add(Rank{0}, words::next_user_lock, 1);
  if (number >= user_locks) {
    end_job(runtime_,
            "the program uses more OpenMP locks than the job has (61440): destroy locks that are not needed");
  }
  return LockId{lock_ids::first_user + static_cast<std::uint32_t>(number)};
}

void Locks::give_back(LockId lock) {
  free_guard_.lock();
  if (free_count_ < user_locks)
    free_[free_count_++] = static_cast<std::uint16_t>(lock.value - lock_ids::first_user);
  free_guard_.unlock();
}

namespace {

LockId id_of(LockWord word) {
  return LockId{word - 1};
}

bool valid(LockWord word) {
  return word > lock_ids::first_user && word <= lock_ids::end;
}

[[noreturn]] void refuse_word(Job& job) {
  end_job(job.runtime,
          "an OpenMP lock holds no lock: call omp_init_lock first, and do not copy or overwrite it");
}

// Of a word that is still zero; once, whoever comes first.
[[gnu::noinline]] LockId initialised_late(Job& job, LockWord& word) {
  const LockId fresh = job.locks.allocate();
  const LockWord desired = fresh.value + 1;
  const auto address = reinterpret_cast<std::uintptr_t>(&word);
  LockWord seen = 0;
  if (job.runtime.memory().is_shared(address)) {
    const AtomicOperation operation{AtomicOperation::Kind::compare_exchange, sizeof(LockWord), desired, 0};
    seen = static_cast<LockWord>(job.runtime.synchronization().atomic(address, operation));
  } else {
    __atomic_compare_exchange_n(&word, &seen, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  if (seen == 0) return fresh;
  job.locks.give_back(fresh);
  if (!valid(seen)) refuse_word(job);
  return id_of(seen);
}

// The word's lock.
LockId opened(LockWord& word) {
  const LockWord seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
  Job& job = Job::require("an OpenMP lock");
  if (seen == 0) return initialised_late(job, word);
  if (!valid(seen)) refuse_word(job);
  return id_of(seen);
}

// Of the task that the calling thread runs: different for any two tasks of the job.
std::uint64_t owner_mark() {
  Task& task = current_task();
  if (task.mark == 0) {
    Job& job = Job::require("an OpenMP lock");
    task.mark = (job.task_marks.fetch_add(1, std::memory_order_relaxed) + 1) | std::uint64_t{job.self} << 48;
  }
  return task.mark;
}

}  // namespace

void initialise_lock(LockWord& word) {
  word = Job::require("omp_init_lock").locks.allocate().value + 1;
}

void destroy_lock(LockWord& word) {
  if (valid(word)) Job::require("omp_destroy_lock").locks.give_back(id_of(word));
  word = 0;
}

void set_lock(LockWord& word) {
  const LockId lock = opened(word);
  Job::current()->locks.lock(lock, &word);
}

bool test_lock(LockWord& word) {
  const LockId lock = opened(word);
  return Job::current()->locks.try_lock(lock);
}

void unset_lock(LockWord& word) {
  const LockId lock = opened(word);
  Job::current()->locks.unlock(lock);
}

void initialise_nest_lock(NestLockWord& word) {
  initialise_lock(word.lock);
  word.depth = 0;
  word.owner = 0;
}

void destroy_nest_lock(NestLockWord& word) {
  destroy_lock(word.lock);
}

void set_nest_lock(NestLockWord& word) {
  if (__atomic_load_n(&word.owner, __ATOMIC_RELAXED) != owner_mark()) {
    set_lock(word.lock);
    __atomic_store_n(&word.owner, owner_mark(), __ATOMIC_RELAXED);
  }
  ++word.depth;
}

std::uint32_t test_nest_lock(NestLockWord& word) {
  if (__atomic_load_n(&word.owner, __ATOMIC_RELAXED) != owner_mark()) {
    if (!test_lock(word.lock)) return 0;
    __atomic_store_n(&word.owner, owner_mark(), __ATOMIC_RELAXED);
  }
  return ++word.depth;
}

void unset_nest_lock(NestLockWord& word) {
  if (--word.depth != 0) return;
  __atomic_store_n(&word.owner, 0, __ATOMIC_RELAXED);
  unset_lock(word.lock);
}

void initialise_nest_lock(NestLockHandle& handle) {
  handle = static_cast<NestLockHandle>(allocate_shared_zeroed(sizeof(NestLockWord), sizeof(NestLockWord)));
  initialise_nest_lock(*handle);
}

void destroy_nest_lock(NestLockHandle& handle) {
  if (handle == nullptr) return;
  destroy_nest_lock(*handle);
  free_shared(handle);
  handle = nullptr;
}

NestLockWord& lock_of(NestLockHandle handle) {
  if (handle == nullptr) refuse_word(Job::require("an OpenMP lock"));
  return *handle;
}

void critical_begin(const void* name) {
  Job* job = Job::current();
  if (job == nullptr) return;
  job->locks.lock(name == nullptr ? LockId{lock_ids::unnamed_critical} : job->locks.named(name), name);
}

void critical_end(const void* name) {
  Job* job = Job::current();
  if (job == nullptr) return;
  job->locks.unlock(name == nullptr ? LockId{lock_ids::unnamed_critical} : job->locks.named(name));
}

void atomic_begin() {
  if (Job* job = Job::current()) job->locks.lock(LockId{lock_ids::atomic});
}

void atomic_end() {
  if (Job* job = Job::current()) job->locks.unlock(LockId{lock_ids::atomic});
}

}  // namespace musubi::omp
