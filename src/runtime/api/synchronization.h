// How threads of the job meet and see each other's writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/atomic_operation.h"
#include "base/ids.h"
#include "base/store_bound.h"
#include "runtime/api/processor_locks.h"
#include "runtime/api/words.h"

namespace musubi::runtime {

// A word that travels from rank 0 to everybody with a barrier (the work of a parallel region).
using BarrierPayload = std::array<std::uint64_t, 6>;

class Synchronization {
 public:
  // Locks of the job: so many that callers number, then those that omp/locks.h numbers by their
  // addresses. A lock costs memory once it is used.
  static constexpr std::size_t lock_count = 65536;
  static constexpr std::size_t locks_of_piece = 256;
  static constexpr std::size_t lock_count_of_all = lock_count + Words::lock_pieces * locks_of_piece;

  // Barrier of all ranks; one thread per rank calls, the rank's other threads wait meanwhile in the caller's
  // care. Release before, acquire after. Rank 0's payload is everybody's afterwards.
  virtual void barrier(BarrierPayload& payload) = 0;
  // The last barrier: afterwards no rank asks another one for anything, so each may leave its process. A rank
  // that left behind barrier() alone would be missed by one that still gets what that barrier announced.
  // Nothing is released. By one thread of each rank.
  virtual void last_barrier() = 0;
  // Told in each barrier by the thread that called barrier(): after what this rank wrote before has been
  // released, and before other ranks are waited for. Must not block, nor release.
  class ReleaseListener {
   public:
    virtual void on_released() noexcept = 0;

   protected:
    ~ReleaseListener() = default;
  };
  // Before the first barrier in which it is to be told; it outlives the runtime.
  virtual void set_release_listener(ReleaseListener* listener) = 0;

  // What is known of the stores of the region `function`, which is about to be called with the address
  // `argument` by threads of all ranks. Its code is looked into once (docs/decisions/merge_unit.md): a
  // millisecond for 5,000 instructions. On the thread that begins the region, before the barrier that does;
  // `frame`: on its stack, below all of the program's frames there.
  virtual StoreBound stores_of(std::uintptr_t function, const void* argument, const void* frame) = 0;
  // The allocations of the heap, which set_allocations() makes known to stores_of(); it outlives the runtime.
  class Allocations {
   public:
    // The allocation of this rank that contains `address`, or those that may end there, too; more, where that
    // is not known.
    virtual AddressRange allocations_at(std::uintptr_t address) const noexcept = 0;

   protected:
    ~Allocations() = default;
  };
  virtual void set_allocations(const Allocations* allocations) = 0;
  // The rank's threads are about to run a region whose stores are `stores`. They run nothing else until they
  // have met in the barrier that ends it; end_region() follows that barrier. The caller is past the barrier
  // that began the region, on its thread's own stack; no thread of the rank runs program code.
  virtual void begin_region(const StoreBound& stores) = 0;
  // Also before the first region, on each rank: from here until the next barrier no rank but 0 runs program
  // code, unless it calls run_between_regions() before.
  virtual void end_region() = 0;
  // Program code is about to run on the calling thread, perhaps between two regions: a handler, or a thread
  // that was made there. Waits for rank 0, which need not release what it writes while it is alone. Any
  // thread.
  virtual void run_between_regions() = 0;
  // Whether the rank takes part in no region, and is not rank 0, which runs the program. Any thread.
  virtual bool is_between_regions() const noexcept = 0;

  // Mutual exclusion in the job, with acquire at lock and release at unlock. Not recursive. A thread that
  // waits sleeps. try_lock: false when the lock is held anywhere (or its state is not known without waiting).
  virtual void lock(LockId lock) = 0;
  virtual bool try_lock(LockId lock) = 0;
  virtual void unlock(LockId lock) = 0;
  // The same locks, without acquire and release, where these do nothing: in one memory. Null elsewhere.
  virtual ProcessorLocks* processor_locks() noexcept { return nullptr; }

  // Release and acquire, between all threads of the job: omp flush, fences.
  virtual void flush() = 0;
  // A hint: the bytes are wanted soon. Brings their blocks and opens them, as faults would one by one.
  virtual void prefetch(const void* address, std::size_t bytes, bool for_writing) = 0;
  // A hint: this rank has written what others will read. Releases it now, so that the next release has less
  // to do; others see it when they acquire that one.
  virtual void release_range(const void* address, std::size_t bytes) = 0;
  // For a word by which threads tell each other something, whose number or address is the channel. Release
  // everything, before the word changes; acquire, after it was seen to have changed, what was released by the
  // same channel.
  virtual void release(std::uint64_t channel) = 0;
  virtual void acquire(std::uint64_t channel) = 0;

  // The program may hand data over by plain flags (it has fences): no thread is to see a flag whose data has
  // not been released. Before the program's main.
  virtual void expect_flags() = 0;
  // The same, for as long as it proves needed: the program has loops that wait for a word to change.
  virtual void suspect_flags() = 0;

  // Exact atomic operation on 1, 2, 4, 8 or 16 bytes of shared memory; may not cross a block's end. Result:
  // the old value.
  virtual AtomicValue atomic(std::uintptr_t address, const AtomicOperation& operation) = 0;

 protected:
  ~Synchronization() = default;
};

}  // namespace musubi::runtime
