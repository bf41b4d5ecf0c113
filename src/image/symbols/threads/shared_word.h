// A word of the program through which its threads wait for each other: atomic over all ranks in shared
// memory, an ordinary atomic elsewhere.
#pragma once

#include <cstdint>

#include "image/start/job.h"

namespace musubi::image {

// The job if `object` is in memory that the ranks share by now; otherwise null, and the C library's own
// implementation serves the object.
inline Job* job_that_shares(const void* object) noexcept {
  Job* const job = current_job();
  const bool shared = job != nullptr && job->program_runs() &&
                      job->runtime.memory().is_shared(reinterpret_cast<std::uintptr_t>(object));
  return shared ? job : nullptr;
}

// In a child made by fork: whether `object` is in its copy of shared memory. The copy may show the state of
// another thread of the parent, or have the job's form.
inline bool is_of_parent(const void* object) noexcept {
  return is_child_of_rank() && job_of_memory()->program_runs() &&
         job_of_memory()->runtime.memory().is_shared(reinterpret_cast<std::uintptr_t>(object));
}

class SharedWord {
 public:
  explicit SharedWord(std::uint32_t* word) noexcept : word_(word), job_(job_that_shares(word)) {}

  // Whether threads of other ranks may wait for it (word_wait.h).
  bool is_of_job() const noexcept { return job_ != nullptr; }
  const void* address() const noexcept { return word_; }

  std::uint32_t load() const { return apply(AtomicOperation::Kind::load, 0, 0); }
  void add(std::uint32_t amount) const { apply(AtomicOperation::Kind::add, amount, 0); }
  // The channel of the writes that threads pass on through the word.
  std::uint64_t channel() const noexcept { return reinterpret_cast<std::uintptr_t>(word_); }
  // The store becomes visible after all earlier writes of this thread.
  void release(std::uint32_t value) const {
    if (job_ != nullptr) job_->runtime.synchronization().release(channel());
    apply(AtomicOperation::Kind::store, value, 0);
  }
  // Result: the old value.
  std::uint32_t compare_exchange(std::uint32_t expected, std::uint32_t desired) const {
    return apply(AtomicOperation::Kind::compare_exchange, desired, expected);
  }
  // From now on this thread sees the writes that other ranks made before they stored the value just read.
  void acquire() const {
    if (job_ != nullptr) job_->runtime.synchronization().acquire(channel());
  }

 private:
  std::uint32_t apply(AtomicOperation::Kind kind, std::uint32_t operand, std::uint32_t compare) const {
    const AtomicOperation operation{kind, sizeof *word_, operand, compare};
    if (job_ != nullptr) {
      const auto address = reinterpret_cast<std::uintptr_t>(word_);
      return static_cast<std::uint32_t>(job_->runtime.synchronization().atomic(address, operation));
    }
    std::uint32_t old = __atomic_load_n(word_, __ATOMIC_ACQUIRE);
    if (kind == AtomicOperation::Kind::load) return old;
    while (!__atomic_compare_exchange_n(word_, &old,
                                        static_cast<std::uint32_t>(musubi::apply(operation, old)), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    return old;
  }

  std::uint32_t* const word_;
  Job* const job_;
};

}  // namespace musubi::image
