// Moves a page to this rank, in the two phases of paper GAS: suspend the sharers' writes and move the bytes,
// then resume all sharers. The mover writes to the sharers' slots itself: they continue to compute.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/fabric.h"
#include "global_pages/directory.h"
#include "global_pages/sharer_slots.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

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

}  // namespace musubi::global_pages
