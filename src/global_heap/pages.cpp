#include "global_heap/pages.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::global_heap {

using fabric::Step;
using fabric::transfer;

namespace {

std::size_t packed_bytes(const PageStates& piece, std::uint64_t end) {
  const std::uint64_t pages = std::min(end - piece.first, PageStates::pages);
  return static_cast<std::size_t>((pages + pages_per_byte - 1) / pages_per_byte);
}
std::uint64_t piece_end(const PageStates& piece, std::uint64_t end) {
  return std::min(end, piece.first + PageStates::pages);
}

void add(PagePool& pool, std::uint64_t first, std::uint64_t pages) {
  pool.low = pool.high == 0 ? first : std::min(pool.low, first);
  pool.high = std::max(pool.high, first + pages);
  pool.free += pages;
}

}  // namespace

Step Pages::bring(PageStates& piece, std::uint64_t page, std::uint64_t end) const {
  piece.first = page / pages_per_byte * pages_per_byte;
  return fabric::get(layout_.region(), layout_.page_states_at(piece.first), piece.packed.data(),
                     packed_bytes(piece, end));
}

Step Pages::put(const PageStates& piece, std::uint64_t end) const {
  return fabric::put(layout_.region(), layout_.page_states_at(piece.first), piece.packed.data(),
                     packed_bytes(piece, end));
}

// Words that were fetched while the lock was not free are ignored.
Task<PagePool> Pages::lock(Rank owner) {
  for (unsigned attempt = 0;; ++attempt) {
    PagePool pool;
    std::uint64_t seen = 0;
    const std::array<Step, 2> take{fabric::compare_swap(layout_.region(), pool_at(), &seen, 0, mark()),
                                   fabric::get(layout_.region(), pool_at(), &pool, sizeof pool)};
    co_await transfer(fabric_, owner, take);
    if (seen == 0) co_return pool;
    co_await pause(attempt);
  }
}

Task<> Pages::unlock(Rank owner, PagePool pool) {
  std::uint64_t held = 0;
  std::array<Step, 2> give_back{fabric::put(layout_.region(), pool_at() + offsetof(PagePool, low), &pool.low,
                                            sizeof pool - offsetof(PagePool, low)),
                                fabric::compare_swap(layout_.region(), pool_at(), &held, mark(), 0)};
  if (hooks_.injected(InjectedBug::page_pool_unlocked_first)) std::swap(give_back[0], give_back[1]);
  co_await transfer(fabric_, owner, give_back);
  MUSUBI_CHECK(held == mark(), "the lock of rank %u's page pool was held by %lu", owner.value,
               static_cast<unsigned long>(held));
}

Task<> Pages::paint(Rank owner, std::uint64_t first, std::uint64_t pages, PageState state) {
  PageStates piece;
  const std::uint64_t end = first + pages;
  for (std::uint64_t page = first; page < end;) {
    const Step look = bring(piece, page, end);
    co_await transfer(fabric_, owner, std::span{&look, 1});
    const std::uint64_t last = piece_end(piece, end);
    while (page < last) piece.set(page++, state);
    const Step change = put(piece, end);
    co_await transfer(fabric_, owner, std::span{&change, 1});
  }
}

Task<PageState> Pages::first_unlike(Rank owner, std::uint64_t first, std::uint64_t pages, PageState state) {
  PageStates piece;
  const std::uint64_t end = first + pages;
  for (std::uint64_t page = first; page < end;) {
    const Step look = bring(piece, page, end);
    co_await transfer(fabric_, owner, std::span{&look, 1});
    for (const std::uint64_t last = piece_end(piece, end); page < last; ++page) {
      if (piece.at(page) != state) co_return piece.at(page);
    }
  }
  co_return state;
}

Task<std::optional<std::uint64_t>> Pages::find(Rank owner, const PagePool& pool, std::uint64_t pages,
                                               std::uint64_t alignment) {
  RunSearch search(pages, alignment);
  PageStates piece;
  for (std::uint64_t page = pool.low; page < pool.high;) {
    const Step look = bring(piece, page, pool.high);
    co_await transfer(fabric_, owner, std::span{&look, 1});
    const std::uint64_t last = piece_end(piece, pool.high);
    if (const std::optional<std::uint64_t> found = search.look(piece, page, last)) co_return found;
    page = last;
  }
  co_return std::nullopt;
}

Task<std::optional<std::uint64_t>> Pages::take_from_pool(Rank owner, std::uint64_t pages,
                                                         std::uint64_t alignment, PageState becomes) {
  PagePool pool;
  const Step look = fabric::get(layout_.region(), pool_at(), &pool, sizeof pool);
  co_await transfer(fabric_, owner, std::span{&look, 1});
  if (pool.free < pages) co_return std::nullopt;
  pool = co_await lock(owner);
  const std::optional<std::uint64_t> first = co_await find(owner, pool, pages, alignment);
  if (first) {
    co_await paint(owner, *first, pages, becomes);
    pool.free -= pages;
  }
  co_await unlock(owner, pool);
  co_return first;
}

// Adds its whole pages to the pool; the parts of pages at its edges are lost.
Task<> Pages::join(Rank owner, Remainder passed_over) {
  const std::uint64_t first = round_up(passed_over.begin, page_bytes) / page_bytes;
  const std::uint64_t end = (passed_over.begin + passed_over.bytes) / page_bytes;
  if (first >= end) co_return;
  PagePool pool = co_await lock(owner);
  co_await paint(owner, first, end - first, PageState::free);
  add(pool, first, end - first);
  co_await unlock(owner, pool);
}

Task<> Pages::map(Rank owner, std::uint64_t first, std::uint64_t pages) {
  const PagePool pool = co_await lock(owner);
  co_await paint(owner, first, pages, PageState::mapped);
  co_await unlock(owner, pool);
}

Task<std::optional<std::uint64_t>> Pages::take_from_break(Rank owner, std::uint64_t bytes,
                                                          std::uint64_t alignment, PageState becomes) {
  const Request extend{Request::Kind::extend_aligned, static_cast<std::int64_t>(bytes),
                       static_cast<std::int64_t>(alignment)};
  for (;;) {
    const Decision decision = co_await breaks_.ask(owner, extend);
    if (decision.refusal == Refusal::none) {
      const std::uint64_t begin = decision.after.gbrk - bytes;
      co_await join(owner, decision.remainder);
      if (becomes == PageState::mapped) co_await map(owner, begin / page_bytes, bytes / page_bytes);
      co_return begin;
    }
    const std::optional<Request> growth = growth_for(decision.before, bytes, alignment, layout_.data_bytes());
    if (!growth) co_return std::nullopt;
    const Decision grown = co_await breaks_.ask(owner, *growth);
    co_await join(owner, grown.remainder);
  }
}

Task<std::optional<std::uint64_t>> Pages::take(Rank owner, std::uint64_t bytes, std::uint64_t alignment,
                                               PageState becomes) {
  MUSUBI_CHECK(bytes > 0 && alignment >= page_bytes && (alignment & (alignment - 1)) == 0);
  if (bytes > layout_.data_bytes() || alignment > layout_.data_bytes()) co_return std::nullopt;
  const std::uint64_t pages = round_up(bytes, page_bytes) / page_bytes;
  const std::optional<std::uint64_t> pooled =
      co_await take_from_pool(owner, pages, alignment / page_bytes, becomes);
  if (pooled) co_return *pooled* page_bytes;
  co_return co_await take_from_break(owner, pages * page_bytes, alignment, becomes);
}

Task<PageState> Pages::give_back(Rank owner, std::uint64_t first, std::uint64_t pages) {
  PagePool pool = co_await lock(owner);
  const PageState unlike = co_await first_unlike(owner, first, pages, PageState::mapped);
  if (unlike == PageState::mapped) {
    co_await paint(owner, first, pages, PageState::free);
    add(pool, first, pages);
  }
  co_await unlock(owner, pool);
  co_return unlike;
}

}  // namespace musubi::global_heap
