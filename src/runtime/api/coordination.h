// Waits between threads of the job other than barriers and locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "sync/collectives.h"
#include "sync/conditions.h"

namespace musubi::runtime {

using sync::CollectiveTerms;

class Coordination {
 public:
  static constexpr std::size_t rw_lock_count = 4096;
  static constexpr std::size_t condition_count = 4096;
  static constexpr std::uint32_t waiters_max = 16384;  // threads of a rank that may wait for these at once

  // Many readers or one writer, in order of arrival (sync/reader_writer_locks.h). Not recursive. A writer
  // sees the writes of all earlier holders, a reader those of all earlier writers. A waiting thread sleeps.
  // try_lock_shared and try_lock_exclusive: false if the thread would have to wait, or if other threads wait
  // for the lock.
  virtual void lock_shared(RwLockId lock) = 0;
  virtual void lock_exclusive(RwLockId lock) = 0;
  virtual bool try_lock_shared(RwLockId lock) = 0;
  virtual bool try_lock_exclusive(RwLockId lock) = 0;
  virtual void unlock_shared(RwLockId lock) = 0;
  virtual void unlock_exclusive(RwLockId lock) = 0;

  // Releases `lock`, which the calling thread holds, and sleeps until a thread signals or `timeout_ns` have
  // passed; then takes the lock again. Result: whether a signal ended the wait. A signal of a thread that has
  // held the lock after this call released it is never lost.
  static constexpr std::uint64_t forever = ~std::uint64_t{0};
  virtual bool wait(ConditionId condition, LockId lock, std::uint64_t timeout_ns) = 0;
  // signal() wakes the longest-waiting thread, if any; broadcast() wakes all.
  virtual void signal(ConditionId condition) = 0;
  virtual void broadcast(ConditionId condition) = 0;

  // Waits of threads for words of the program, which their addresses identify. A thread announces that it
  // will sleep, looks at its word once more, and sleeps or withdraws; a thread that has changed the word
  // wakes one thread or all. Then no change is missed. Threads may also be woken without reason.
  using Sleep = sync::Conditions::Wait;
  virtual void announce_sleep(const void* word, Sleep& sleep) = 0;
  // At most `timeout_ns`.
  virtual void sleep(const void* word, Sleep& sleep, std::uint64_t timeout_ns) = 0;
  virtual void withdraw_sleep(const void* word, Sleep& sleep) = 0;
  // Costs one read if no thread waits.
  virtual void wake_one(const void* word) = 0;
  virtual void wake_all(const void* word) = 0;

  // Gathers values of terms.bytes bytes into `all`: those of every rank, in order, or only that of
  // terms.giver. Collective, about log2(ranks) messages per rank; orders nothing in shared memory.
  // gather_bytes_max: the maximum size of one value, at least 64.
  virtual std::size_t gather_bytes_max() const noexcept = 0;
  virtual void gather(const CollectiveTerms& terms, const void* mine, std::span<std::byte> all) = 0;
  // Call them around Synchronization::barrier() if that barrier is one of the collective calls: ranks in
  // different calls are detected.
  virtual void begin_barrier(const CollectiveTerms& terms) noexcept = 0;
  virtual void end_barrier() noexcept = 0;

  // Writes the message with which mismatching calls end the job.
  class MismatchWriter {
   public:
    // `own`: this rank's call, `theirs`: that of rank `other`. Writes at most `text.size()` characters,
    // null-terminated.
    virtual void write(std::span<char> text, Rank self, const CollectiveTerms& own, Rank other,
                       const CollectiveTerms& theirs) noexcept = 0;

   protected:
    ~MismatchWriter() = default;
  };
  // Before the first call; `writer` outlives the job.
  virtual void set_mismatch_writer(MismatchWriter& writer) noexcept = 0;

  // Waits until `threads` threads of the job have called it with the same `name`, which is not 0: then each
  // sees the writes of all. 1 to barrier_threads_max threads. Result: true for one of them. A waiting thread
  // sleeps.
  static constexpr std::uint32_t barrier_threads_max = 126;
  virtual bool pass_barrier(std::uint64_t name, std::uint32_t threads) = 0;

 protected:
  ~Coordination() = default;
};

}  // namespace musubi::runtime
