// The slots of this rank: which pages it knows, and the accesses that are under way. A page has one slot; the
// slot serves other pages, too, one at a time.
//
// An access counts itself first, then looks whether it may go on; a mover, or who brings another page, closes
// the slot first, then looks at the counts. So one of the two sees the other, on any fabric: no word is
// changed by both.
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

// Where the slots of each rank are: at the same offset of a region, those of this rank at `own`.
struct SlotPlace {
  fabric::RegionId region;
  std::uint64_t offset;
  Slot* own;
  std::size_t count;
  // Processor atomics of this rank mix with the fabric's operations on them; otherwise it locks its own slots
  // by the fabric, too.
  bool by_processor;
};

class SharerSlots {
 public:
  SharerSlots(fabric::Fabric& fabric, const SlotPlace& place, Hooks hooks);

  // Begins an access to the page with this key if it is known and, to write, not suspended. Result: where its
  // bytes stay until end(). Any thread.
  std::optional<Where> begin(std::uint64_t key, Access access) noexcept;
  void end(std::uint64_t key, Access access, Where where) noexcept;

  // Whether a mover suspends writes to a page that is known.
  bool is_suspended(const Page& page) const noexcept;

  // Takes the slot of the page, and waits until no access to another page in it is under way; nobody finds
  // a page in it meanwhile. False: the page is there already, and the slot is not taken.
  Task<bool> take(Page page);
  // The page is there from now on, and an access to it has begun; gives the slot back.
  Task<> give(Page page, Where where, Access access);
  // The slot stays empty; gives it back.
  Task<> give_empty(Page page);

  std::uint64_t offset_of(const Page& page) const {
    return place_.offset + index_of(page.key) * sizeof(Slot);
  }
  fabric::RegionId region() const { return place_.region; }

 private:
  // Keys are multiples of the size of a page, so their low bits say little.
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
    return access == Access::write ? slot.writes : slot.reads[where.turn()];
  }

  fabric::Fabric& fabric_;
  const SlotPlace place_;
  const Hooks hooks_;
};

}  // namespace musubi::global_pages
