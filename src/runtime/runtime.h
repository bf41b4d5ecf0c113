// The runtime of one rank: reads settings, chooses drivers and protocol, owns everything. Front ends (omp,
// c_api, image) see only this header. All calls block politely; any thread that has been attached may call
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/atomic_operation.h"
#include "base/ids.h"
#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "runtime/remote_calls.h"
#include "trace/counters.h"
#include "vm/copy_source.h"
#include "vm/space.h"

namespace musubi::runtime {

// A word that travels from rank 0 to everybody with a barrier (the work of a parallel region).
using BarrierPayload = std::array<std::uint64_t, 6>;

// A range of addresses that becomes shared at share_globals(): static data of the program or of a library.
struct SharedRange {
  std::uintptr_t address;    // page-aligned
  std::size_t bytes;         // whole pages
  std::size_t filled_bytes;  // from the first on: read from a file. The rest was zeros when it was mapped
  bool of_library = false;
};
// Bytes inside the shared ranges that stay private to each rank (copy relocations, .got.plt).
struct PrivateBytes {
  std::uintptr_t address;
  std::size_t bytes;
};

// The stack of one thread in the shared range; [low, high) is usable, a guard lies below.
struct ThreadStack {
  std::byte* low;
  std::byte* high;
  std::size_t slot;
};

// Where the address space of the job lies: the same on every rank.
struct Layout {
  std::uintptr_t heap_base;
  std::size_t heap_bytes_per_rank;  // rank r allocates in [heap_base + r * heap_bytes_per_rank, +
                                    // heap_bytes_per_rank)
  std::uintptr_t stacks_base;
  std::size_t stack_slot_bytes;
  std::size_t stack_slots_per_rank;
  // What lies around the libraries of the start, and where libraries go that come later. Of both only static
  // data is shared.
  std::uintptr_t libraries_base;
  std::size_t libraries_bytes;
  std::uintptr_t late_libraries_base;
  std::size_t late_libraries_bytes;
};

class Runtime {
 public:
  static constexpr std::size_t team_words = 65536;  // shared 8-byte words per rank, zero at start
  static constexpr std::size_t lock_count = 65536;  // locks of the job

  // Joins the job and reserves the shared range; heap and stacks are usable at once, each rank in its own
  // part. Collective. Threads: the calling thread is attached.
  static Result<std::unique_ptr<Runtime>> start(const config::Settings& settings,
                                                std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                                std::span<const SharedRange> globals,
                                                std::span<const PrivateBytes> private_bytes);
  virtual ~Runtime() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;
  virtual const config::Settings& settings() const noexcept = 0;
  virtual const Layout& layout() const noexcept = 0;
  virtual trace::Counters& counters() noexcept = 0;

  // Collective, once, before the program's main: rank 0's bytes of the globals win, everybody else's are
  // dropped.
  virtual void share_globals() = 0;
  // The same while the program runs, for static data of a library that every rank has loaded at the same
  // place within layout().late_libraries_base. Not collective, but at every rank once; where `own_bytes_win`,
  // on an attached thread, behind all others: that rank's bytes are the job's, once it releases. Nobody may
  // use the library yet. One thread per rank.
  virtual void share_library(std::span<const SharedRange> ranges, std::span<const PrivateBytes> private_bytes,
                             bool own_bytes_win) = 0;

  // Gives the calling thread its alternate signal stack and its executor; undone by detach. Every thread that
  // may touch shared memory is attached. Result: false when it was already.
  virtual bool attach_thread() = 0;
  virtual void detach_thread() = 0;
  // A thread that no team waits for touches shared memory, or will: from before it is made until it has
  // ended; threads of the C API, which stay away from shared memory during collective calls, from attach to
  // detach. While there is one, the rank's other threads in a barrier do not mean that it stands still.
  virtual void add_stranger() noexcept = 0;
  virtual void remove_stranger() noexcept = 0;

  // A stack for a new thread of this rank, pinned; ends the job with a clear line when no slot is free.
  virtual ThreadStack take_stack() = 0;
  virtual void give_back_stack(const ThreadStack& stack) = 0;
  // Notes which part of the calling thread's stack in `slot` others may be interested in now: [low, high)
  // takes part in releases. To be called on entry to every call below that releases. Cheap.
  virtual void note_stack(std::size_t slot, const void* low, const void* high) noexcept = 0;

  // Barrier of all ranks; one thread per rank calls, the rank's other threads wait meanwhile in the caller's
  // care. Release before, acquire after. Rank 0's payload is everybody's afterwards.
  virtual void barrier(BarrierPayload& payload) = 0;
  // Told in each barrier when what this rank wrote before has been released, and before other ranks are
  // waited for, by the thread that called barrier(). Must not block, nor release.
  class ReleaseListener {
   public:
    virtual void on_released() noexcept = 0;

   protected:
    ~ReleaseListener() = default;
  };
  // Before the first barrier in which it is to be told; it outlives the runtime.
  virtual void set_release_listener(ReleaseListener* listener) = 0;

  // The rank's threads are about to run the region `function`, called with the address `argument`, and
  // nothing else until they have met in a barrier that ends it; end_region() follows that. The caller stands
  // behind the barrier that began the region, on its thread's own stack; no thread of the rank runs program
  // code. What the region's code stores is looked into once (docs/decisions/merge_unit.md): a millisecond for
  // 5,000 instructions.
  virtual void begin_region(std::uintptr_t /*function*/, const void* /*argument*/) {}
  virtual void end_region() {}

  // Mutual exclusion in the job, with acquire at lock and release at unlock. Not recursive. A thread that
  // waits sleeps. try_lock: false when the lock is held anywhere (or its state is not known without waiting).
  virtual void lock(LockId lock) = 0;
  virtual bool try_lock(LockId lock) = 0;
  virtual void unlock(LockId lock) = 0;

  // Release and acquire by the global clock: omp flush, fences.
  virtual void flush() = 0;
  // Release everything, without an acquire; acquire what the global clock covers.
  virtual void release() = 0;
  virtual void acquire() = 0;

  // The program may hand data over by plain flags (it has fences): nobody is to see a flag whose data has not
  // been released. Before the program's main.
  virtual void expect_flags() {}
  // The same as long as it turns out to: the program has loops that wait for a word to change.
  virtual void suspect_flags() {}

  // Exact atomic operation on 1, 2, 4, 8 or 16 bytes of shared memory; may cross a block's end. Result: the
  // old value.
  virtual AtomicValue atomic(std::uintptr_t address, const AtomicOperation& operation) = 0;
  virtual bool is_shared(std::uintptr_t address) const noexcept = 0;

  // Team words: fabric atomics on word `index` at rank `owner`. Sequentially consistent with each other; they
  // order nothing in shared memory.
  virtual std::uint64_t word_load(Rank owner, std::size_t index) = 0;
  virtual void word_store(Rank owner, std::size_t index, std::uint64_t value) = 0;
  virtual std::uint64_t word_fetch_add(Rank owner, std::size_t index, std::uint64_t amount) = 0;
  virtual std::uint64_t word_compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                          std::uint64_t desired) = 0;

  // Lets the program run code in the segment of shared memory that holds `address`, on all ranks, for good.
  // Any thread.
  virtual void allow_code(std::uintptr_t address) = 0;

  // Zeros for [address, address+bytes), as if by plain stores of the calling thread. Memory of this rank's
  // part of the heap that nobody has touched yet stays so.
  virtual void store_zeros(void* address, std::size_t bytes) = 0;

  // Makes [address, address+bytes) accessible for a system call that is about to read (or write) it.
  virtual void touch(const void* address, std::size_t bytes, bool for_writing) = 0;

  // In a child made by fork, on its only thread: shared memory becomes a private copy of the parent's, taken
  // block by block at the first touch. The child is no rank: from then on it may call is_shared, layout,
  // settings and touch only. Errors: refused by the kernel.
  using CopySource = vm::CopySource;
  virtual Result<void> become_copy(CopySource& source) = 0;

  // Small messages between ranks for the heap: free of memory that another rank allocated. A listener is
  // called on the service thread, one call at a time, in the order of each sender.
  class HeapListener {
   public:
    // `bytes`: how many from `address` on are given back; 0 for a whole allocation.
    virtual void on_free(Rank from, std::uintptr_t address, std::size_t bytes) noexcept = 0;
    // Result: usable bytes of the allocation at `address`, which this rank made.
    virtual std::size_t on_size_query(std::uintptr_t address) noexcept = 0;

   protected:
    ~HeapListener() = default;
  };
  virtual void set_heap_listener(HeapListener* listener) = 0;
  virtual void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) = 0;
  virtual std::size_t query_size(Rank owner, std::uintptr_t address) = 0;

  // Procedures that other ranks run for this one.
  virtual RemoteCalls& remote_calls() noexcept = 0;

  // Makes waiting polite while more threads than cores run in the job: called by the front end when the
  // number of threads of this rank changes.
  virtual void set_thread_count(std::uint32_t threads) noexcept = 0;

  // Waits until `*word != value` for intra-rank synchronisation, with the job's waiting policy (spin, yield,
  // futex); wake_all wakes the waiters after *word was changed.
  virtual void wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) = 0;
  virtual void wake_local(const std::atomic<std::uint32_t>* word) = 0;

  // Prints the statistics of the job when asked for (collective, rank 0 prints), and tells the launcher that
  // the job ends with `status`. The caller then leaves the process.
  virtual void finish(int status) = 0;
  // The same while other ranks are still at work (exit inside a parallel region, _exit): not collective,
  // prints no statistics; the launcher then ends the others. The caller leaves the process. Any thread.
  virtual void leave(int status) noexcept = 0;
  // Ends the job at once as a failure: one line, status.
  [[noreturn]] virtual void abort(int status, std::string_view reason) = 0;
};

// The runtime of this process for signal handlers and front ends; null before start. Set by the front end
// that started it (c_api or image), which owns it.
Runtime* current_runtime() noexcept;
void set_current_runtime(Runtime* runtime) noexcept;

}  // namespace musubi::runtime
