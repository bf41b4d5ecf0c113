// A directory that no processor serves: whoever wants to know looks at the entry, whoever moves a page locks
// it, and suspends and resumes the sharers by writing to their slots. Neither home nor sharers take part.
// What paper GAS names as future work.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.h"
#include "global_pages/directory.h"
#include "global_pages/sharer_slots.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

class OneSidedDirectory final : public Directory {
 public:
  // Entries, slots and pages lie in one region of each rank; this rank's begins at `own`.
  OneSidedDirectory(fabric::Fabric& fabric, SharerSlots& slots, fabric::RegionId region, std::byte* own,
                    Hooks hooks);

  Task<std::optional<Where>> share(Page page) override;
  Task<Where> look(Page page) override;
  Task<Where> own(Page page, std::uint64_t place) override;

 private:
  // An entry, as it was when its mover took it.
  struct Taken {
    Where where;
    std::vector<std::uint64_t> sharers;
  };
  Task<Taken> take_entry(Page page);
  Task<> give_entry(Page page, const Taken* taken, const std::vector<Rank>* gone);
  Task<bool> suspend(Rank sharer, Page page);
  Task<> redirect(Rank sharer, Page page, Where now);
  Task<> resume(Rank sharer, Page page, Where before);
  Task<> move_bytes(Page page, Where before, Where now);
  Task<std::uint64_t> word_at(Rank rank, std::uint64_t offset);
  std::uint64_t sharers_at(Page page) const { return page.entry_at + sizeof(Entry); }

  fabric::Fabric& fabric_;
  SharerSlots& slots_;
  const fabric::RegionId region_;
  std::byte* const own_;
  const Hooks hooks_;
};

}  // namespace musubi::global_pages
