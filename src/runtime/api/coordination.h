// How threads of the job wait for each other beyond barriers and locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace musubi::runtime {

// What all ranks must say alike in a call that they make together. The numbers mean what the front end wants
// them to mean.
struct CallTerms {
  static constexpr std::uint32_t all_give = ~std::uint32_t{0};

  std::uint32_t call = 0;
  std::uint32_t detail = 0;
  std::uint32_t root = 0;
  std::uint32_t giver = all_give;  // the only rank whose value counts
  std::uint64_t bytes = 0;         // of each value
  std::uint64_t part = 0;
};

class Coordination {
 public:
  static constexpr std::size_t rw_lock_count = 4096;
  static constexpr std::size_t condition_count = 4096;
  static constexpr std::uint32_t waiters_max = 16384;  // threads of a rank that may wait for these at once

  // Many readers or one writer, first come, first served (sync/reader_writer_locks.h). Not recursive. The
  // thread that takes the lock for writing sees what all holders before wrote, a reader what writers wrote.
  // A thread that waits sleeps. try_lock_shared and try_lock_exclusive: false when the lock is held so that
  // the thread would wait, or others wait for it.
  virtual void lock_shared(RwLockId lock) = 0;
  virtual void lock_exclusive(RwLockId lock) = 0;
  virtual bool try_lock_shared(RwLockId lock) = 0;
  virtual bool try_lock_exclusive(RwLockId lock) = 0;
  virtual void unlock_shared(RwLockId lock) = 0;
  virtual void unlock_exclusive(RwLockId lock) = 0;

  // Gives `lock`, which the calling thread holds, back, and sleeps until a thread signals or `timeout_ns`
  // have passed; takes the lock again. Result: whether it was a signal. No signal is lost that a thread gives
  // after it had the lock.
  static constexpr std::uint64_t forever = ~std::uint64_t{0};
  virtual bool wait(ConditionId condition, LockId lock, std::uint64_t timeout_ns) = 0;
  // Wakes the thread that has waited longest, if any; every thread that waits.
  virtual void signal(ConditionId condition) = 0;
  virtual void broadcast(ConditionId condition) = 0;

  // Brings values of terms.bytes bytes together: of every rank, in order, or of terms.giver alone, into
  // `all`. Collective, in about log2(ranks) messages of each rank; orders nothing in shared memory.
  // gather_bytes_max: of one value, at least 64.
  virtual std::size_t gather_bytes_max() const noexcept = 0;
  virtual void gather(const CallTerms& terms, const void* mine, std::span<std::byte> all) = 0;
  // Around Synchronization::barrier() where that stands in the order of such calls: so that ranks that are
  // not in the same call are found.
  virtual void begin_barrier(const CallTerms& terms) noexcept = 0;
  virtual void end_barrier() noexcept = 0;

  // Calls that do not fit together end the job, with this line.
  class MismatchWriter {
   public:
    // This rank's call and that of rank `other`. Writes at most `text.size()` characters, with a zero.
    virtual void write(std::span<char> text, Rank self, const CallTerms& own, Rank other,
                       const CallTerms& theirs) noexcept = 0;

   protected:
    ~MismatchWriter() = default;
  };
  // Before the first call; outlives the job.
  virtual void set_mismatch_writer(MismatchWriter& writer) noexcept = 0;

 protected:
  ~Coordination() = default;
};

}  // namespace musubi::runtime
