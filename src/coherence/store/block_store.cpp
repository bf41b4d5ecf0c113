#include "coherence/store/block_store.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace musubi::coherence {

BlockStore::BlockStore(const vm::Space& space, const RankMemory& memory, const Parameters& parameters,
                       const PrivateParts* private_parts, trace::Counters& counters)
    : space_(space),
      memory_(memory),
      parameters_(parameters),
      private_parts_(private_parts != nullptr && private_parts->empty() ? nullptr : private_parts),
      counters_(counters),
      kernels_(merge_kernels()),
      scratch_(space.largest_block_bytes()) {}

Block BlockStore::block(BlockId id) const {
  MUSUBI_CHECK(id.value < space_.blocks_max());
  const vm::Extent extent = space_.extent(id);
  return Block{id,
               extent,
               space_.initial_home(id),
               memory_.entries[id.value],
               memory_.words[id.value],
               memory_.private_view + extent.offset,
               memory_.published + extent.offset};
}

bool BlockStore::differ(const std::byte* a, const std::byte* b, std::size_t bytes) const {
  if (hooks().injected(InjectedBug::difference_seen_twice)) {
    const std::byte* const first = std::mismatch(a, a + bytes, b).first;
    hooks().others_may_act();
    return first != a + bytes && *first != b[first - a];
  }
  return kernels_.differ(a, b, bytes);
}

bool BlockStore::differs_from(const Block& b, const std::byte* twin) const {
  bool differs = false;
  for_each_part(b, [&](std::size_t at, std::size_t bytes) {
    differs = differs || differ(twin + at, b.own + at, bytes);
  });
  return differs;
}

bool BlockStore::copy_changes(const Block& b) const {
  bool changed = false;
  for_each_part(b, [&](std::size_t at, std::size_t bytes) {
    changed |= kernels_.copy_changes(b.published + at, b.own + at, bytes);
  });
  return changed;
}

// Most lines have not changed: several are compared at once.
bool BlockStore::copy_changes(const Block& b, LineMask& changed) const {
  const std::size_t line = LineMask::line_bytes(b.extent.bytes), group = 8 * line;
  bool any = false;
  for_each_part(b, [&](std::size_t at, std::size_t bytes) {
    for (const std::size_t end = at + bytes; at < end;) {
      const std::size_t group_end = std::min(end, (at / group + 1) * group);
      if (!kernels_.differ(b.published + at, b.own + at, group_end - at)) {
        at = group_end;
        continue;
      }
      while (at < group_end) {
        const std::size_t next = std::min(group_end, (at / line + 1) * line);
        if (kernels_.copy_changes(b.published + at, b.own + at, next - at)) {
          changed.set(at / line);
          any = true;
        }
        at = next;
      }
    }
  });
  return any;
}

void BlockStore::copy_to_public(const Block& b) const {
  for_each_part(b,
                [&](std::size_t at, std::size_t bytes) { std::memcpy(b.published + at, b.own + at, bytes); });
}

void BlockStore::copy_from(const Block& b, const std::byte* remote) const {
  for_each_part(b, [&](std::size_t at, std::size_t bytes) { std::memcpy(b.own + at, remote + at, bytes); });
}

MergeUnit BlockStore::unit_of(const Block& b, const std::byte* own, Rank giver) {
  return MergeUnit({space_.segment_of(b.id), b.extent, own}, store_bound(), giver, counters_,
                   parameters_.report_races ? memory_.races : nullptr);
}

void BlockStore::merge(const Block& b, std::byte* twin, const std::byte* remote, Rebase rebase,
                       Sharing sharing, Rank giver) {
  MergeUnit unit = unit_of(b, b.own, giver);
  for_each_part(b, [&](std::size_t at, std::size_t bytes) {
    merge_part(b.own + at, twin + at, remote + at, bytes, rebase, sharing, unit);
  });
}

void BlockStore::merge_part(std::byte* own, std::byte* twin, const std::byte* remote, std::size_t bytes,
                            Rebase rebase, Sharing sharing, MergeUnit& unit) {
  MUSUBI_CHECK(own != remote && twin != remote);
  const auto merge = rebase == Rebase::yes ? kernels_.merge_and_rebase : kernels_.merge_into_both;
  const bool by_byte = unit.is_byte() || hooks().injected(InjectedBug::words_merged_by_byte);
  const RaceCount races = merge(own, twin, remote, bytes, sharing, by_byte ? nullptr : &unit);
  if (races.bytes != 0) note_races(races, unit);
}

void BlockStore::note_races(const RaceCount& races, const MergeUnit& unit) {
  MUSUBI_CHECK(races.bytes != 0);
  counters_.add(trace::Counter::races, races.bytes);
  if (memory_.races == nullptr) return;
  const std::uintptr_t address = unit.address_of(races.first);
  memory_.races->note_race(address, unit.other(), races.joined);
  if (!parameters_.report_races || races.first_is_known) return;
  const std::size_t word_bytes = unit.word_bytes();
  memory_.races->note(address / word_bytes * word_bytes, word_bytes, unit.other(), !races.joined);
}

// In the simulator other threads and ranks act at this point of the merge.
void BlockStore::check_exclusive(const std::byte* own, std::size_t bytes) const {
  if constexpr (is_simulated_build) {
    const std::vector<std::byte> before(own, own + bytes);
    hooks().others_may_act();
    MUSUBI_CHECK(std::equal(before.begin(), before.end(), own), "bytes that are exclusive have changed");
  }
}

void BlockStore::merge_at_home(HomeBytes home, std::size_t at, const std::byte* remote, std::size_t bytes,
                               MergeUnit& unit) {
  MUSUBI_CHECK(home.own != nullptr && home.published != nullptr);
  if (hooks().injected(InjectedBug::home_program_left_out)) {
    std::memcpy(home.published + at, remote, bytes);
    return;
  }
  if (home.sharing == Sharing::exclusive) check_exclusive(home.own + at, bytes);
  merge_part(home.own + at, home.published + at, remote, bytes, Rebase::yes, home.sharing, unit);
}

// When the bound becomes wider, no merge of bytes that the rank wrote is under way.
void BlockStore::set_store_bound(const StoreBound& bound) noexcept {
  if (bound.bytes == 1 && store_bytes_.load() == 1) return;
  store_bound_lock_.lock();
  store_bound_ = bound;
  store_bytes_.store(bound.bytes);
  store_bound_lock_.unlock();
}

StoreBound BlockStore::store_bound() const {
  if (store_bytes_.load() == 1) return {};
  store_bound_lock_.lock();
  const StoreBound bound = store_bound_;
  store_bound_lock_.unlock();
  return bound;
}

}  // namespace musubi::coherence
