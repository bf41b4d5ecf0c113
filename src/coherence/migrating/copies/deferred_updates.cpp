// Blocks that are always open, while order is kept and threads of the rank run program code (order.cpp).
// Bytes that come for such a block from other ranks are held back until an acquire in order has ended that
// began after their arrival.
//
// Until then
// - the public copy holds the newest version that is known here;
// - the private bytes hold the version that the program may see;
// - a buffer holds the base: the bytes that the private ones were made of. So the program's own changes are
//   still the difference from the base, and can be released in the meantime.
#include "coherence/migrating/copies/deferred_updates.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace musubi::coherence::migrating {

bool DeferredUpdates::begin(HeldBlock& b) {
  MUSUBI_CHECK(!b.entry.copy.held_back);
  HeldBack* const held = blocks_.add(b.id);
  if (held == nullptr) return false;
  held->base.emplace(store_.scratch());
  std::memcpy(held->base->data(), b.published, b.extent.bytes);
  b.entry.copy.held_back = true;
  visits_.note_held_back(true);
  return true;
}

bool DeferredUpdates::hold(HeldBlock& b, const std::byte* remote, Rank giver) {
  MUSUBI_CHECK(b.entry.copy.pinned);
  if (!b.entry.copy.held_back && !begin(b)) return false;
  store_.for_each_part(
      b, [&](std::size_t at, std::size_t bytes) { std::memcpy(b.published + at, remote + at, bytes); });
  blocks_.of(b.id).giver = giver;
  b.entry.came_in = acquires_.begun();
  return true;
}

void DeferredUpdates::show_part(const HeldBlock& b, std::size_t begin, std::size_t end) {
  HeldBack& held = blocks_.of(b.id);
  MergeUnit unit = store_.unit_of(b, b.own, held.giver);
  store_.for_each_part(b, [&](std::size_t at, std::size_t bytes) {
    const std::size_t from = std::max(at, begin), to = std::min(at + bytes, end);
    if (from >= to) return;
    store_.merge_part(b.own + from, held.base->data() + from, b.published + from, to - from, Rebase::yes,
                      Sharing::open, unit);
  });
}

// Shows the received words of one kind: flags, on which ranks have operated atomically, or all other words.
void DeferredUpdates::show_kind(const HeldBlock& b, bool are_flags) {
  constexpr std::size_t word = sizeof(std::uint64_t), group = 64 * word;
  const std::byte* const base = blocks_.of(b.id).base->data();
  const std::uint64_t flags = store_.shared(b.words.atomic_words).load();
  for (std::size_t at = 0; at < b.extent.bytes; at += group) {
    const std::size_t bytes = std::min(group, b.extent.bytes - at);
    if (!store_.differ(b.published + at, base + at, bytes)) continue;
    for (std::size_t i = 0; i * word < bytes; ++i) {
      const std::size_t from = at + i * word, to = std::min(from + word, b.extent.bytes);
      const bool is_flag = (flags >> i & 1) != 0;
      if (is_flag == are_flags && store_.differ(b.published + from, base + from, to - from))
        show_part(b, from, to);
    }
  }
}

// A thread may look at any time. It sees no flag before the data, if an atomic operation sets the flag.
void DeferredUpdates::show(HeldBlock& b) {
  MUSUBI_CHECK(b.entry.copy.held_back);
  show_kind(b, false);
  show_kind(b, true);
  let_go(b);
}

void DeferredUpdates::let_go(HeldBlock& b) {
  blocks_.remove(blocks_.of(b.id));
  b.entry.copy.held_back = false;
  b.entry.came_in = 0;
  visits_.note_held_back(false);
}

void DeferredUpdates::show_words_of(const HeldBlock& b, std::size_t offset, std::size_t bytes) {
  MUSUBI_CHECK(offset < b.extent.bytes && b.entry.copy.held_back);
  constexpr std::size_t word = sizeof(std::uint64_t);
  const std::size_t end = std::min(offset + bytes, b.extent.bytes);
  show_part(b, offset / word * word, (end + word - 1) / word * word);
}

// The changes of the program go into the public copy. Result: whether there are any.
bool DeferredUpdates::publish_changes(const HeldBlock& b) {
  MUSUBI_CHECK(b.entry.copy.held_back && b.entry.copy.pinned);
  HeldBack& held = blocks_.of(b.id);
  const BufferPool::Buffer seen(store_.scratch()), merged(store_.scratch());
  bool changed = false;
  MergeUnit unit = store_.unit_of(b, merged.data(), held.giver);
  store_.for_each_part(b, [&](std::size_t at, std::size_t bytes) {
    std::byte* const base = held.base->data() + at;
    std::memcpy(seen.data() + at, b.own + at, bytes);
    if (!store_.differ(seen.data() + at, base, bytes)) return;
    changed = true;
    std::memcpy(merged.data() + at, seen.data() + at, bytes);
    store_.merge_part(merged.data() + at, base, b.published + at, bytes, Rebase::no, Sharing::exclusive,
                      unit);
    std::memcpy(b.published + at, merged.data() + at, bytes);
    std::memcpy(base, seen.data() + at, bytes);
  });
  return changed;
}

// The flags of all blocks come after the data of all blocks: no flag is shown while the data of some block
// must wait. Bytes that came since the data was shown are shown with the flags, or they would be dropped
// unseen.
Task<> DeferredUpdates::show_if(IsDueToShow is_due) {
  if (empty()) co_return;
  bool some_wait = false;
  for (const bool are_flags : {false, true}) {
    if (some_wait) co_return;
    for (HeldBack& held : blocks_.all()) {
      const BlockId id{held.block.load()};
      if (id.value == HeldBack::nothing) continue;
      HeldBlock b = co_await ground_.enter(id);
      if (!b.entry.copy.held_back) continue;
      if (!is_due(b.entry.came_in)) {
        some_wait = true;
      } else if (are_flags) {
        show(b);
      } else {
        show_kind(b, false);
      }
    }
  }
}

}  // namespace musubi::coherence::migrating
