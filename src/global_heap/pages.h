// Whole pages of any rank's heap: for the page-wise calls, and for spans of objects. They are taken from a
// pool of pages that were freed or skipped, then from the break; a full heap grows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_heap/breaks.h"
#include "global_heap/layout.h"
#include "global_heap/page_states.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

// In the heap; the words after the lock, and the states of all pages, change under it.
struct PagePool {
  std::uint64_t lock = 0;
  std::uint64_t low = 0;   // all pages that were ever in the pool are in [low, high)
  std::uint64_t high = 0;  // 0: no page
  std::uint64_t free = 0;  // pages
};

class Pages {
 public:
  // All outlive this.
  Pages(fabric::Fabric& fabric, const HeapLayout& layout, BreakTable& breaks, Hooks hooks = {})
      : fabric_(fabric), layout_(layout), breaks_(breaks), hooks_(hooks) {}

  // Takes `bytes`, rounded up to pages, at a multiple of `alignment`. REQUIRES: bytes > 0; `alignment` is a
  // power of two and at least a page; `becomes` is mapped, or other: for good. Result: the offset; nothing:
  // the heap is full and cannot grow enough. Any thread; waits for other holders of the locks.
  Task<std::optional<std::uint64_t>> take(Rank owner, std::uint64_t bytes, std::uint64_t alignment,
                                          PageState becomes);
  // Frees pages that were taken as mapped. REQUIRES: they are within the heap's capacity. Result: mapped;
  // otherwise the state of the first page that is not mapped, without any change.
  Task<PageState> give_back(Rank owner, std::uint64_t first, std::uint64_t pages);

 private:
  Task<std::optional<std::uint64_t>> take_from_pool(Rank owner, std::uint64_t pages, std::uint64_t alignment,
                                                    PageState becomes);
  Task<std::optional<std::uint64_t>> take_from_break(Rank owner, std::uint64_t bytes, std::uint64_t alignment,
                                                     PageState becomes);
  Task<> join(Rank owner, Remainder passed_over);
  Task<> map(Rank owner, std::uint64_t first, std::uint64_t pages);
  // unlock() puts the holder's copy of the pool's words.
  Task<PagePool> lock(Rank owner);
  Task<> unlock(Rank owner, PagePool pool);

  // The caller holds the lock.
  Task<> paint(Rank owner, std::uint64_t first, std::uint64_t pages, PageState state);
  Task<PageState> first_unlike(Rank owner, std::uint64_t first, std::uint64_t pages, PageState state);
  Task<std::optional<std::uint64_t>> find(Rank owner, const PagePool& pool, std::uint64_t pages,
                                          std::uint64_t alignment);

  std::uint64_t pool_at() const { return layout_.page_pool_at(); }
  std::uint64_t mark() const { return std::uint64_t{fabric_.self().value} + 1; }
  // Steps that get or put the piece that holds `page`, as far as needed up to `end`.
  fabric::Step bring(PageStates& piece, std::uint64_t page, std::uint64_t end) const;
  fabric::Step put(const PageStates& piece, std::uint64_t end) const;

  fabric::Fabric& fabric_;
  const HeapLayout layout_;
  BreakTable& breaks_;
  const Hooks hooks_;
};

}  // namespace musubi::global_heap
