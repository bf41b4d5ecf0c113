// Whole pages of any rank's heap: for the page-wise calls, and for spans of objects. They are taken from a
// pool of pages that were freed or skipped, then from the break; a full heap grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_heap/breaks.h"
#include "global_heap/layout.h"
#include "global_heap/rules.h"
#include "hooks/hooks.h"

namespace musubi::global_heap {

// The states of whole pages, for the page-wise calls: two bits each, read and written in pieces.
enum class PageState : std::uint8_t {
  other,   // of the break, or of a span of objects
  free,    // of the pool
  mapped,  // allocated
};

inline constexpr std::uint64_t pages_per_byte = 4;

// A piece of the table: the states of the pages from `first` on.
struct PageStates {
  static constexpr std::size_t bytes = 512;
  static constexpr std::uint64_t pages = bytes * pages_per_byte;

  std::uint64_t first = 0;  // a multiple of pages_per_byte
  std::array<std::uint8_t, bytes> packed{};

  PageState at(std::uint64_t page) const {
    const std::uint64_t place = page - first;
    return static_cast<PageState>(packed[place / pages_per_byte] >> (place % pages_per_byte * 2) & 3);
  }
  void set(std::uint64_t page, PageState state) {
    const std::uint64_t place = page - first;
    std::uint8_t& byte = packed[place / pages_per_byte];
    const auto shift = place % pages_per_byte * 2;
    byte = static_cast<std::uint8_t>((byte & ~(3u << shift)) | static_cast<unsigned>(state) << shift);
  }
};

// Finds the first run of `pages` free pages that begins at a multiple of `alignment`, in pages: a power of
// two. The pieces are passed to it in order, without gaps.
class RunSearch {
 public:
  RunSearch(std::uint64_t pages, std::uint64_t alignment) : pages_(pages), alignment_(alignment) {}

  // The pages [from, to) of the piece. Result: the begin of the run.
  std::optional<std::uint64_t> look(const PageStates& piece, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t page = from; page < to; ++page) {
      if (piece.at(page) != PageState::free) {
        begin_.reset();
        continue;
      }
      if (!begin_) begin_ = page;
      const std::uint64_t aligned = round_up(*begin_, alignment_);
      if (page + 1 >= aligned + pages_) return aligned;
    }
    return std::nullopt;
  }

 private:
  std::uint64_t pages_;
  std::uint64_t alignment_;
  std::optional<std::uint64_t> begin_;  // of the current free run
};

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
