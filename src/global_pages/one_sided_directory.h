// A directory that no processor serves: a query reads the entry, and a rank that moves a page locks it. Paper
// GAS names it as future work.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/fabric.h"
#include "global_pages/directory.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

class OneSidedDirectory final : public Directory {
 public:
  // Entries are in this region of each rank.
  OneSidedDirectory(fabric::Fabric& fabric, fabric::RegionId region, Hooks hooks)
      : fabric_(fabric), region_(region), hooks_(hooks) {}

  Task<std::optional<Where>> share(Page page) override;
  Task<Where> look(Page page) override;
  Task<LockedEntry> take(Page page) override;
  Task<> give(Page page, const LockedEntry* taken, Where now, const std::vector<Rank>* gone) override;

 private:
  static std::uint64_t sharers_at(Page page) { return page.entry_at + sizeof(Entry); }

  fabric::Fabric& fabric_;
  const fabric::RegionId region_;
  const Hooks hooks_;
};

}  // namespace musubi::global_pages
