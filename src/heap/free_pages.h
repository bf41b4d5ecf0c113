// Which pages of this rank's part of the heap no one uses, and of which of them the memory should go back to
// the system.
//
// Free pages keep their memory for a while: they are mostly wanted again. It goes back
// - when they have been free for one to two times `age_ns`, or
// - when they are more than the rank may keep: its share of half of the most that was in use lately. So the
//   job holds no more than one and a half times what it has used at one time, whichever ranks use memory in
//   turn. Those go first that were free already when give_back() last looked.
// Whole blocks go: parts of them are mostly wanted again, and a protocol cannot give them up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/sparse_array.h"
#include "base/spin_lock.h"
#include "base/thread_safety.h"

namespace musubi::heap {

// Gives the memory of whole blocks back to the system.
class PageGiver {
 public:
  // No one uses [address, address+bytes). Result: whether zeros stand there from now on, and no memory.
  virtual bool give_back(std::uintptr_t address, std::size_t bytes) noexcept = 0;

 protected:
  ~PageGiver() = default;
};

// Any thread. add() and take() may be called inside the allocator.
class FreePages {
 public:
  static constexpr std::uint64_t age_ns = 5'000'000'000;
  static constexpr std::size_t kept_bytes_min = std::size_t{32} << 20;

  // What it keeps of each page that the program has used.
  static constexpr std::size_t bits_per_page = 4;

  // Of [base, base + bytes), whole blocks of zeros that no one uses. `ranks` share the memory.
  FreePages(std::uintptr_t base, std::size_t bytes, std::size_t block_bytes, std::uint32_t ranks);

  // Pages that have been in use are free.
  void add(std::uintptr_t address, std::size_t bytes, std::uint64_t now_ns) noexcept;
  // Pages come into use. Waits while their memory is being given back.
  void take(std::uintptr_t address, std::size_t bytes, std::uint64_t now_ns) noexcept;
  // Stores zeros in pages that were just taken, where something else may stand: much of it goes back to the
  // system instead.
  void clear(std::uintptr_t address, std::size_t bytes, PageGiver& giver) noexcept;

  // Whether give_back() has work.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  // Not inside the allocator. One thread does it, others return at once.
  void give_back(PageGiver& giver) noexcept;

  // After all pages that were ever in use.
  std::uintptr_t end_of_used() const noexcept { return base_ + end_.load(std::memory_order_relaxed) * page; }
  std::size_t kept_bytes() const noexcept { return kept_.load(std::memory_order_relaxed) * page; }

  // In a child made by fork, on its only thread: other threads of the parent did not come along.
  void forget_threads() noexcept;

 private:
  using Words = SparseArray<std::uint64_t>;  // a bit for each page
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t pages_per_word = 64;
  // So much goes at a time: a thread that wants it waits.
  static constexpr std::size_t given_pages_max = 512;
  // Zeros that are stored are cheaper than pages that come back to be touched, if all of them are: up to the
  // size from which on glibc maps fresh memory, too.
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
  // The last blocks below page `end` that are free, and in `marked`, if it is not null: `most` pages at most.
  // They count as free no more. None: {0, 0}.
  Pages next_to_go(std::size_t end, const Words* marked, std::size_t most) noexcept MUSUBI_REQUIRES(lock_);
  void give_back(Pages going, PageGiver& giver) noexcept MUSUBI_REQUIRES(lock_);
  void give_back_old(PageGiver& giver) noexcept MUSUBI_REQUIRES(lock_);
  void give_back_more(PageGiver& giver, const Words* marked) noexcept MUSUBI_REQUIRES(lock_);
  void mark_free(Words& words) noexcept MUSUBI_REQUIRES(lock_);

  const std::uintptr_t base_;
  const std::size_t block_pages_;
  const std::uint32_t ranks_;

  SpinLock lock_;
  Words free_ MUSUBI_GUARDED_BY(lock_);  // and the system does not have the memory
  Words old_ MUSUBI_GUARDED_BY(lock_);   // and were so one age ago
  Words seen_ MUSUBI_GUARDED_BY(lock_);  // and were so when give_back() last looked
  // What stood there when the page was last taken may be other than zeros. Words are changed under the lock,
  // and read by the owner of the page.
  Words stale_;
  Pages leaving_ MUSUBI_GUARDED_BY(lock_) = {0, 0};
  bool is_giving_ MUSUBI_GUARDED_BY(lock_) = false;
  bool is_aging_due_ MUSUBI_GUARDED_BY(lock_) = false;
  std::uint64_t aged_at_ns_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::size_t in_use_ MUSUBI_GUARDED_BY(lock_) = 0;  // pages
  std::size_t most_in_use_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::size_t most_in_use_before_ MUSUBI_GUARDED_BY(lock_) = 0;
  std::size_t left_ MUSUBI_GUARDED_BY(lock_) = 0;  // of free_, by the last give_back()
  std::atomic<std::size_t> kept_{0};               // pages of free_
  std::atomic<std::size_t> end_{0};                // page
  std::atomic<bool> due_{false};
};

}  // namespace musubi::heap
