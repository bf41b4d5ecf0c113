// The directory of the pages: the location of each page, and the ranks that know it. Two implementations: by
// operations of the fabric alone, or by the processor of each page's home (paper GAS, 3).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/task.h"
#include "global_pages/layout.h"

namespace musubi::global_pages {

// An entry as its mover found it.
struct LockedEntry {
  Where where;
  std::vector<std::uint64_t> sharers;  // a bit for each rank
};

class Directory {
 public:
  virtual ~Directory() = default;

  // Makes this rank a sharer; it holds its slot during the call (SharerSlots::take). Result: the location of
  // the page, or nothing while the page moves: the caller must then release the slot before it retries.
  virtual Task<std::optional<Where>> share(Page page) = 0;
  // The location of the page now or a moment ago.
  virtual Task<Where> look(Page page) = 0;
  // Makes this rank the page's mover; no rank becomes a sharer or a mover until give(). Waits for other
  // movers.
  virtual Task<LockedEntry> take(Page page) = 0;
  // The page is at `now`, and the ranks in `gone` need not be asked any more. `taken` and `gone` live until
  // the task ends.
  virtual Task<> give(Page page, const LockedEntry* taken, Where now, const std::vector<Rank>* gone) = 0;
};

}  // namespace musubi::global_pages
