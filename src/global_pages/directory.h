// The directory of the pages: where each is, and which ranks know so. Two ways to keep it stand behind this
// interface: by operations of the fabric alone, or by the processor of each page's home (paper GAS, 3).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/task.h"
#include "global_pages/layout.h"

namespace musubi::global_pages {

// An entry as it was when its mover took it.
struct Taken {
  Where where;
  std::vector<std::uint64_t> sharers;  // a bit for each rank
};

class Directory {
 public:
  virtual ~Directory() = default;

  // Makes this rank a sharer, whose slot it holds meanwhile (SharerSlots::take). Result: where the page is,
  // or nothing while it moves: then the caller gives the slot back before it tries again.
  virtual Task<std::optional<Where>> share(Page page) = 0;
  // Where the page is, or was a moment ago.
  virtual Task<Where> look(Page page) = 0;
  // Makes this rank the page's mover; nobody becomes a sharer or a mover until give(). Waits for other
  // movers.
  virtual Task<Taken> take(Page page) = 0;
  // The page is at `now`, and whom `gone` names need not be asked any more. `taken` and `gone` live until the
  // task ends.
  virtual Task<> give(Page page, const Taken* taken, Where now, const std::vector<Rank>* gone) = 0;
};

}  // namespace musubi::global_pages
