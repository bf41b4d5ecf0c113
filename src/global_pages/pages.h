// Access to relocatable pages from this rank, and their relocation to it (paper GAS).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_pages/directory.h"
#include "global_pages/sharer_slots.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

// Moves a page to this rank, in the two phases of paper GAS: suspend the sharers' writes and move the bytes,
// then resume all sharers. The mover writes to the sharers' slots itself: they continue to compute.
class Relocation {
 public:
  // Slots and pages are in one region of each rank; this rank's begins at `own`.
  Relocation(fabric::Fabric& fabric, SharerSlots& slots, Directory& directory, fabric::RegionId region,
             std::byte* own, Hooks hooks)
      : fabric_(fabric), slots_(slots), directory_(directory), region_(region), own_(own), hooks_(hooks) {}

  // Moves the page to `place` of this rank's region. Result: its old location, which no rank reads any more.
  // If it was here already, nothing happens. Waits for other moves of the page, and for accesses in progress.
  // The calling thread must not have begun an access to the page.
  Task<Where> move_here(Page page, std::uint64_t place);

 private:
  Task<bool> suspend(Rank sharer, Page page);
  Task<> redirect(Rank sharer, Page page, Where now);
  Task<> resume(Rank sharer, Page page, Where before, std::optional<Where> now);
  Task<> tell(const std::vector<Rank>* sharers, Page page, Where before, Where now);
  Task<> tell_one_by_one(const std::vector<Rank>* sharers, Page page, Where before, Where now);

  fabric::Fabric& fabric_;
  SharerSlots& slots_;
  Directory& directory_;
  const fabric::RegionId region_;
  std::byte* const own_;
  const Hooks hooks_;
};

// Memory of ranks for the bytes of pages.
class Frames {
 public:
  // From this rank. Result: a place in its region, a multiple of 16; nothing if no memory is left.
  virtual Task<std::optional<std::uint64_t>> take(std::uint64_t bytes) = 0;
  // Of any rank.
  virtual Task<> give_back(Rank owner, std::uint64_t place, std::uint64_t bytes) = 0;

 protected:
  ~Frames() = default;
};

enum class Owned : std::uint8_t { moved, was_here, no_memory };

// Any thread.
class Pages {
 public:
  // All outlive this.
  Pages(fabric::Fabric& fabric, SharerSlots& slots, Directory& directory, Relocation& relocation,
        Frames& frames)
      : fabric_(fabric), slots_(slots), directory_(directory), relocation_(relocation), frames_(frames) {}

  // From begin to end the page's bytes stay at the result: no write there is lost, and no read finds freed
  // memory. A long access delays ranks that want to own the page. Between begin and end the thread must not
  // wait for anything that another access to pages holds.
  //
  // At once, for a page that is known: no network operation. Result: nothing if that is not possible.
  std::optional<Where> begin_at_once(std::uint64_t key, Access access) noexcept {
    return slots_.begin(key, access);
  }
  // The general form.
  Task<Where> begin(Page page, Access access);
  void end(std::uint64_t key, Access access, Where where) noexcept { slots_.end(key, access, where); }

  // Moves the page to this rank.
  Task<Owned> own(Page page);
  // The location of the page now or a moment ago.
  Task<Where> look(Page page) { return directory_.look(page); }

 private:
  fabric::Fabric& fabric_;
  SharerSlots& slots_;
  Directory& directory_;
  Relocation& relocation_;
  Frames& frames_;
};

}  // namespace musubi::global_pages
