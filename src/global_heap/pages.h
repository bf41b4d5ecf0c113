// Whole pages of any rank's heap: for the page-wise calls, and for spans of objects. They come from a pool of
// pages that were given back or passed over, then from the break; a heap that is full grows.
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

// In the heap; the words behind the lock, and the states of all pages, change under it.
struct PagePool {
  std::uint64_t lock = 0;
  std::uint64_t low = 0;   // pages that were ever in the pool lie in [low, high)
  std::uint64_t high = 0;  // 0: there is none
  std::uint64_t free = 0;  // pages
};

class Pages {
 public:
  // All outlive this.
  Pages(fabric::Fabric& fabric, const HeapLayout& layout, BreakTable& breaks, Hooks hooks = {})
      : fabric_(fabric), layout_(layout), breaks_(breaks), hooks_(hooks) {}

  // Takes `bytes`, rounded up to pages, at a multiple of `alignment`. REQUIRES: bytes > 0; `alignment` is a
  // power of two and a page at least; `becomes` is mapped, or other: for good. Result: the offset; none: the
  // heap is full and cannot grow so far. Any thread; waits for other holders of the locks.
  Task<std::optional<std::uint64_t>> take(Rank owner, std::uint64_t bytes, std::uint64_t alignment,
                                          PageState becomes);
  // Gives pages back that were taken as mapped. REQUIRES: they lie in the heap's capacity. Result: mapped;
  // or what the first page is that is not mapped: then nothing has happened.
  Task<PageState> give_back(Rank owner, std::uint64_t first, std::uint64_t pages);

 private:
  Task<std::optional<std::uint64_t>> take_from_pool(Rank owner, std::uint64_t pages, std::uint64_t alignment,
                                                    PageState becomes);
  Task<std::optional<std::uint64_t>> take_from_break(Rank owner, std::uint64_t bytes, std::uint64_t alignment,
                                                     PageState becomes);
  Task<> join(Rank owner, Remainder passed_over);
  Task<> map(Rank owner, std::uint64_t first, std::uint64_t pages);
  // The holder's copy of the pool's words is what unlock puts.
  Task<PagePool> lock(Rank owner);
  Task<> unlock(Rank owner, PagePool pool);

  // These hold the lock.
  Task<> paint(Rank owner, std::uint64_t first, std::uint64_t pages, PageState state);
  Task<PageState> first_unlike(Rank owner, std::uint64_t first, std::uint64_t pages, PageState state);
  Task<std::optional<std::uint64_t>> find(Rank owner, const PagePool& pool, std::uint64_t pages,
                                          std::uint64_t alignment);

  std::uint64_t pool_at() const { return layout_.page_pool_at(); }
  std::uint64_t mark() const { return std::uint64_t{fabric_.self().value} + 1; }
  // The piece that holds `page`, as a step that brings or puts as much of it as is needed up to `end`.
  fabric::Step bring(PageStates& piece, std::uint64_t page, std::uint64_t end) const;
  fabric::Step put(const PageStates& piece, std::uint64_t end) const;

  fabric::Fabric& fabric_;
  const HeapLayout layout_;
  BreakTable& breaks_;
  const Hooks hooks_;
};

}  // namespace musubi::global_heap
