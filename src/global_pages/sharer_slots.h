// The slots of this rank: the pages that it knows, and the accesses in progress. A page has one slot; the
// slot serves other pages, too, one at a time.
//
// An access first counts itself, then checks whether it may proceed. A mover, or a thread that loads another
// page, first closes the slot, then reads the counts. So at least one of the two notices the other, on any
// fabric: no word is changed by both.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/task.h"
#include "fabric/fabric.h"
#include "global_pages/layout.h"
#include "hooks/hooks.h"

namespace musubi::global_pages {

enum class Access : std::uint8_t { read, write };

// The location of the slots: at the same offset of a region on each rank, those of this rank at `own`.
struct SlotPlace {
  fabric::RegionId region;
  std::uint64_t offset;
  Slot* own;
  std::size_t count;
  // Processor atomics of this rank may mix with the fabric's operations on the slots; otherwise the rank
  // locks its own slots through the fabric, too.
  bool by_processor;
};

class SharerSlots {
 public:
  SharerSlots(fabric::Fabric& fabric, const SlotPlace& place, Hooks hooks);

  // Begins an access to the page with this key if the page is known and, for a write, not suspended. Result:
  // the place where its bytes stay until end(). Any thread.
  std::optional<Where> begin(std::uint64_t key, Access access) noexcept;
  void end(std::uint64_t key, Access access, Where where) noexcept;

  // Whether the page is known and a mover suspends writes to it.
  bool is_suspended(const Page& page) const noexcept;

  // Takes the slot of the page and empties it, and waits until no access to another page in it is in
  // progress. False: the page is there already, and the slot is not taken.
  Task<bool> take(Page page);
  // Puts the page into the slot, begins an access to it, and releases the slot.
  Task<> give(Page page, Where where, Access access);
  // Releases the slot, which stays empty.
  Task<> give_empty(Page page);

  std::uint64_t offset_of(const Page& page) const {
    return place_.offset + index_of(page.key) * sizeof(Slot);
  }
  fabric::RegionId region() const { return place_.region; }

 private:
  // Keys are multiples of the page size, so their low bits are useless.
  std::size_t index_of(std::uint64_t key) const {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(static_cast<unsigned __int128>(key * golden) * place_.count >> 64);
  }
  Slot& slot_of(std::uint64_t key) const { return place_.own[index_of(key)]; }
  std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) const {
    hooks_.touch();
    return std::atomic_ref(word);
  }
  Task<std::uint64_t> change_lock(const Page& page, std::uint64_t from, std::uint64_t to);
  static std::uint64_t& count_of(Slot& slot, Access access, Where where) {
    return access == Access::write ? slot.writes : slot.reads[where.epoch()];
  }

  fabric::Fabric& fabric_;
  const SlotPlace place_;
  const Hooks hooks_;
};

}  // namespace musubi::global_pages
