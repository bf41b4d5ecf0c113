#include "atomics/bound_memory.h"

namespace musubi::atomics {

BoundMemory::Entry* BoundMemory::at(std::uintptr_t key) noexcept {
  std::size_t place = (key * 0x9e3779b97f4a7c15u >> 32) % entries_max;
  while (entries_[place].key != 0) {
    if (entries_[place].key == key) return &entries_[place];
    place = (place + 1) % entries_max;
  }
  if (count_ >= entries_max / 4 * 3) return nullptr;
  ++count_;
  entries_[place].key = key;
  return &entries_[place];
}

void BoundMemory::forget_all() noexcept {
  entries_.fill({});
  count_ = 0;
}

void BoundMemory::open(Entry& entry, std::uint32_t depth) noexcept {
  entry.is_open = true;
  entry.depth = depth;
  open_[depth] = ++opened_;
}

void BoundMemory::close(Entry& entry, Summary summary, std::uint32_t outer_depth) noexcept {
  open_[entry.depth] = 0;
  entry.is_open = false;
  entry.summary = summary;
  entry.outer_depth = outer_depth;
  entry.outer = outer_depth == no_depth ? 0 : open_[outer_depth];
}

// A function that was never looked at names an outer function of number 0, which is open nowhere.
bool BoundMemory::holds(const Entry& entry) const noexcept {
  if (entry.is_open || entry.outer_depth == no_depth) return true;
  return entry.outer != 0 && open_[entry.outer_depth] == entry.outer;
}

}  // namespace musubi::atomics
