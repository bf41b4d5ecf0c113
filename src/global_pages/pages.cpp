#include "global_pages/pages.h"

namespace musubi::global_pages {

Task<Where> Pages::begin(Page page, Access access) {
  for (unsigned attempt = 0;; ++attempt) {
    if (const std::optional<Where> where = slots_.begin(page.key, access)) co_return *where;
    if (slots_.is_suspended(page)) {
      co_await pause(attempt);
      continue;
    }
    const bool taken = co_await slots_.take(page);
    if (!taken) continue;
    const std::optional<Where> where = co_await directory_.share(page);
    if (where) {
      co_await slots_.give(page, *where, access);
      co_return *where;
    }
    co_await slots_.give_empty(page);
    co_await pause(attempt);
  }
}

// The rank becomes a sharer before the move, so the move itself tells it the new location.
Task<Owned> Pages::own(Page page) {
  const Where known = co_await begin(page, Access::read);
  slots_.end(page.key, Access::read, known);
  if (known.owner() == fabric_.self()) co_return Owned::was_here;
  const std::optional<std::uint64_t> place = co_await frames_.take(page.bytes);
  if (!place) co_return Owned::no_memory;
  const Where before = co_await relocation_.move_here(page, *place);
  if (before.owner() == fabric_.self()) {
    co_await frames_.give_back(fabric_.self(), *place, page.bytes);
    co_return Owned::was_here;
  }
  co_await frames_.give_back(before.owner(), before.place(), page.bytes);
  co_return Owned::moved;
}

}  // namespace musubi::global_pages
