// The unused pages of this rank's part of the heap, and which of them return their memory to the system.
//
// Free pages keep their memory for a while, because most are reused soon. A page's memory is returned
// - when it has been free for one to two times `age_ns`, or
// - when the rank has more free pages than its allowance: its share of half of the recent peak usage. So the
// job
//   holds at most one and a half times its peak usage, even if the ranks use memory alternately. Pages that
//   were already free at the last give_back() go first.
// Only whole blocks are returned: parts of them are mostly reused, and a protocol cannot give them up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/sparse_array.h"
#include "base/spin_lock.h"
#include "base/thread_safety.h"

namespace musubi::heap {

// Returns the memory of whole blocks to the system.
class PageReleaser {
 public:
  // [address, address+bytes) is unused. Result: whether it now reads as zeros and takes no memory.
  virtual bool give_back(std::uintptr_t address, std::size_t bytes) noexcept = 0;

 protected:
  ~PageReleaser() = default;
};

// Any thread. add() and take() may be called inside the allocator.
class FreePages {
 public:
  static constexpr std::uint64_t age_ns = 5'000'000'000;
  static constexpr std::size_t kept_bytes_min = std::size_t{32} << 20;

  // Its own bookkeeping per page that the program has used.
  static constexpr std::size_t bits_per_page = 4;

  // For [base, base + bytes), whole blocks of zeros, all unused. `ranks` share the memory.
  FreePages(std::uintptr_t base, std::size_t bytes, std::size_t block_bytes, std::uint32_t ranks);

  // Used pages become free.
  void add(std::uintptr_t address, std::size_t bytes, std::uint64_t now_ns) noexcept;
  // Pages become used. Waits while their memory is being returned.
  void take(std::uintptr_t address, std::size_t bytes, std::uint64_t now_ns) noexcept;
  // Zeroes pages that were just taken, if they may hold other bytes; returns large parts to the system
  // instead.
  void clear(std::uintptr_t address, std::size_t bytes, PageReleaser& giver) noexcept;

  // Whether give_back() has work.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  // Not inside the allocator. One thread runs it; concurrent callers return at once.
  void give_back(PageReleaser& giver) noexcept;

  // The end of all pages ever used.
  std::uintptr_t end_of_used() const noexcept { return base_ + end_.load(std::memory_order_relaxed) * page; }
  std::size_t kept_bytes() const noexcept { return kept_.load(std::memory_order_relaxed) * page; }

  // In a child made by fork, on its only thread: the parent's other threads do not exist here.
  void forget_threads() noexcept;

 private:
  using Words = SparseArray<std::uint64_t>;  // a bit for each page
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t pages_per_word = 64;
  // The most pages returned at a time, because a thread that wants them waits.
  static constexpr std::size_t given_pages_max = 512;
  // Above this size pages are returned instead of zeroed: zeroing is cheaper than faults on returned pages if
  // all of them are touched. glibc, too, maps fresh memory from this size on.
  static constexpr std::size_t cleared_by_giving_pages = (std::size_t{32} << 20) / page;

  struct Pages {
    std::size_t first, end;
    std::size_t count() const { return end - first; }
  };
  Pages pages_of(std::uintptr_t address, std::size_t bytes) const noexcept;
  std::uintptr_t address_of(std::size_t number) const noexcept { return base_ + number * page; }
  void look_at_clock(std::uint64_t now_ns) noexcept MUSUBI_REQUIRES(lock_);
  void set_due() noexcept MUSUBI_REQUIRES(lock_);
  std::size_t pages_allowed() const noexcept MUSUBI_REQUIRES(lock_);
  static void set(Words& words, Pages pages) noexcept;
  static std::size_t unset(Words& words, Pages pages) noexcept;
  static bool is_all(const Words& words, Pages pages) noexcept;
  static bool goes(const Words& free, const Words* marked, Pages block) noexcept;
  bool is_over() const noexcept MUSUBI_REQUIRES(lock_) {
    return kept_.load(std::memory_order_relaxed) > pages_allowed();
  }
  std::size_t end_of_blocks() const noexcept;
  // The last free blocks below page `end`, at most `most` pages; only blocks in `marked`, unless it is null.
  // They no longer count as free. None: {0, 0}.
  Pages next_to_go(std::size_t end, const Words* marked, std::size_t most) noexcept MUSUBI_REQUIRES(lock_);
  void give_back(Pages going, PageReleaser& giver) noexcept MUSUBI_REQUIRES(lock_);
  void give_back_old(PageReleaser& giver) noexcept MUSUBI_REQUIRES(lock_);
  void give_back_more(PageReleaser& giver, const Words* marked) noexcept MUSUBI_REQUIRES(lock_);
  void mark_free(Words& words) noexcept MUSUBI_REQUIRES(lock_);

  const std::uintptr_t base_;
  const std::size_t block_pages_;
  const std::uint32_t ranks_;

  SpinLock lock_;
  Words free_ MUSUBI_GUARDED_BY(lock_);  // free, and their memory not returned
  Words old_ MUSUBI_GUARDED_BY(lock_);   // free, also one age ago
  Words seen_ MUSUBI_GUARDED_BY(lock_);  // free, also at the last give_back()
  // Pages that may have held bytes other than zeros when they were last taken. Words are changed under the
  // lock, and read by the owner of the page.
  Words stale_;
  Pages leaving_ MUSUBI_GUARDED_BY(lock_) = {0, 0};
  bool is_giving_ MUSUBI_GUARDED_BY(lock_) = false;
  bool is_aging_due_ MUSUBI_GUARDED_BY(lock_) = false;
  std::uint64_t aged_at_ns_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::size_t in_use_ MUSUBI_GUARDED_BY(lock_) = 0;  // pages
  std::size_t most_in_use_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::size_t most_in_use_before_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::size_t left_ MUSUBI_GUARDED_BY(lock_) = 0;  // of free_, after the last give_back()
  std::atomic<std::size_t> kept_{0};               // pages of free_
  std::atomic<std::size_t> end_{0};                // page
  std::atomic<bool> due_{false};
};

}  // namespace musubi::heap
