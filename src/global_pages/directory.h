// The directory of the pages: where each is, and which ranks know so. Two ways to keep it stand behind this
// interface: by operations of the fabric alone, or by the processor of each page's home (paper GAS, 3).
#pragma once

#include <cstdint>
#include <optional>

#include "base/task.h"
#include "global_pages/layout.h"

namespace musubi::global_pages {

class Directory {
 public:
  virtual ~Directory() = default;

  // Makes this rank a sharer, whose slot it holds meanwhile (SharerSlots::take). Result: where the page is,
  // or nothing while it moves: then the caller gives the slot back before it tries again.
  virtual Task<std::optional<Where>> share(Page page) = 0;
  // Where the page is, or was a moment ago.
  virtual Task<Where> look(Page page) = 0;
  // Moves the page to `place` of this rank's region. Result: where it was; nobody reads there any more. If it
  // was here already, nothing has happened. Waits for other moves of the page, and for accesses under way.
  // The rank holds no access to the page that its own thread would have to end.
  virtual Task<Where> own(Page page, std::uint64_t place) = 0;
};

}  // namespace musubi::global_pages
