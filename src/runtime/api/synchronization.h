// Synchronisation between threads of the job.
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

// Words that rank 0 sends to all ranks with a barrier (the work of a parallel region).
using BarrierPayload = std::array<std::uint64_t, 6>;

// The program's code of a region.
struct RegionCode {
  enum class Passes : std::uint8_t {
    address,  // the code gets the address of `record`
    words,    // two addresses of the thread's own, then the words of `record`
  };

  std::uintptr_t address;
  const void* record;  // on a stack
  Passes passes;
};

class Synchronization {
 public:
  // Locks of the job: lock_count that callers number, then those that omp/locks.h numbers by their addresses.
  // A lock takes memory only once it is used.
  static constexpr std::size_t lock_count = 65536;
  static constexpr std::size_t locks_of_piece = 256;
  static constexpr std::size_t lock_count_of_all = lock_count + Words::lock_pieces * locks_of_piece;

  // Barrier of all ranks, called by one thread per rank; the caller makes the rank's other threads wait.
  // Releases before, acquires after. All ranks get rank 0's payload.
  virtual void barrier(BarrierPayload& payload) = 0;
  // The last barrier: afterwards no rank sends a request to another, so each may leave its process. A rank
  // that left after barrier() could still be needed by a rank that fetches the changes which that barrier
  // announced. Releases nothing. Called by one thread of each rank.
  virtual void last_barrier() = 0;
  // Called in each barrier by the thread that called barrier(): after this rank's earlier writes have been
  // released, before the wait for other ranks. Must not block or release.
  class ReleaseListener {
   public:
    virtual void on_released() noexcept = 0;

   protected:
    ~ReleaseListener() = default;
  };
  // Before the first barrier that calls it; `listener` outlives the runtime.
  virtual void set_release_listener(ReleaseListener* listener) = 0;

  // The known bounds of the stores of a region, whose code threads of all ranks are about to call. It is
  // analysed once (docs/decisions/races.md): a millisecond for 5,000 instructions. On the thread that begins
  // the region, before the barrier of the region; `frame`: on its stack, below all of the program's frames
  // there.
  virtual StoreBound stores_of(const RegionCode& code, const void* frame) = 0;
  // The allocations of the heap, for stores_of(); outlives the runtime.
  class Allocations {
   public:
    // The allocation of this rank that contains `address`, including one that may end there; a larger range
    // if that is not known.
    virtual AddressRange allocations_at(std::uintptr_t address) const noexcept = 0;

   protected:
    ~Allocations() = default;
  };
  virtual void set_allocations(const Allocations* allocations) = 0;
  // The rank's threads are about to run a region whose stores are `stores`. They run nothing else until they
  // have met in the barrier that ends it; end_region() follows that barrier. The caller has passed the
  // barrier that began the region, on its thread's own stack; no thread of the rank runs program code.
  virtual void begin_region(const StoreBound& stores) = 0;
  // Also called before the first region, on each rank: until the next barrier no rank but 0 runs program
  // code, unless it calls run_between_regions() first.
  virtual void end_region() = 0;
  // Program code is about to run on the calling thread, perhaps between two regions: in a handler, or in a
  // thread created there. Waits for rank 0, which need not release its writes while it runs alone. Any
  // thread.
  virtual void run_between_regions() = 0;
  // The same for a thread that another rank has made here (Threads::expect_outsiders()), perhaps while this
  // rank waits in a barrier. Waits for rank 0 once.
  virtual void run_beside_barriers() = 0;
  // Whether the rank is in no region, and is not rank 0, which runs the program. Any thread.
  virtual bool is_between_regions() const noexcept = 0;

  // Mutual exclusion in the job, with acquire at lock and release at unlock. Not recursive. A waiting thread
  // sleeps. try_lock: false if the lock is held on any rank, or its state cannot be known without waiting.
  virtual void lock(LockId lock) = 0;
  virtual bool try_lock(LockId lock) = 0;
  virtual void unlock(LockId lock) = 0;
  // The same locks without acquire and release, in one memory, where these have no effect. Null elsewhere.
  virtual ProcessorLocks* processor_locks() noexcept { return nullptr; }

  // Release and acquire, between all threads of the job: omp flush, fences.
  virtual void flush() = 0;
  // A hint: other ranks will read the bytes that this rank has written. Releases them now, so that the next
  // release has less to do; other ranks see them when they acquire that release.
  virtual void release_range(const void* address, std::size_t bytes) = 0;
  // For a word through which threads synchronise; the channel is its number or address. Release all writes
  // before changing the word; after seeing the change, acquire the writes released through the same channel.
  virtual void release(std::uint64_t channel) = 0;
  virtual void acquire(std::uint64_t channel) = 0;

  // The program may hand data over by plain flags (it has fences): no thread must see a flag before the
  // flag's data has been released. Before the program's main.
  virtual void expect_flags() = 0;
  // The same, as long as it proves necessary: the program has loops that wait for a word to change.
  virtual void suspect_flags() = 0;

  // Exact atomic operation on 1, 2, 4, 8 or 16 bytes of shared memory, within one block. Result: the old
  // value.
  virtual AtomicValue atomic(std::uintptr_t address, const AtomicOperation& operation) = 0;

 protected:
  ~Synchronization() = default;
};

}  // namespace musubi::runtime
