// The blocks of one rank as every policy sees them: bytes, twins, words, entries and gates; comparing,
// copying and merging. It decides nothing and asks no other rank.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/buffer_pool.h"
#include "base/event.h"
#include "base/ids.h"
#include "base/spin_lock.h"
#include "base/store_bound.h"
#include "coherence/core/block_gates.h"
#include "coherence/core/line_mask.h"
#include "coherence/core/merge.h"
#include "coherence/core/merge_unit.h"
#include "coherence/core/parameters.h"
#include "coherence/core/private_parts.h"
#include "coherence/store/rank_memory.h"
#include "hooks/hooks.h"
#include "trace/counters.h"
#include "vm/space.h"

namespace musubi::coherence {

// One block, with its bytes, words and entry; made under the block's gate.
struct Block {
  BlockId id;
  vm::Extent extent;
  Rank initial_home;
  Entry& entry;
  BlockWords& words;
  std::byte* own;        // private bytes, system view
  std::byte* published;  // public copy: other ranks read it, and it is the twin
};

// The bytes of a block at its home, for changes of another rank.
struct HomeBytes {
  std::byte* own;
  std::byte* published;  // has the bytes of the version there
  Sharing sharing = Sharing::open;
};

class BlockStore {
 public:
  // `private_parts` may be null. All outlive the store.
  BlockStore(const vm::Space& space, const RankMemory& memory, const Parameters& parameters,
             const PrivateParts* private_parts, trace::Counters& counters);

  const vm::Space& space() const { return space_; }
  const RankMemory& memory() const { return memory_; }
  Block block(BlockId id) const;
  Entry& entry(BlockId id) const { return memory_.entries[id.value]; }
  BlockWords& words(BlockId id) const { return memory_.words[id.value]; }
  // A task holds a block's gate while it works on the block. It holds one at a time, or several by trying.
  Gate& gate(BlockId id) {
    hooks().touch();
    return gates_.of(id);
  }
  auto& gates() { return gates_; }
  // Buffers of the size of the largest block.
  BufferPool& scratch() { return scratch_; }

  // Words that other ranks, or other threads of this one, may read or change at any time.
  std::atomic_ref<std::uint64_t> shared(std::uint64_t& word) const {
    hooks().touch();
    return std::atomic_ref<std::uint64_t>(word);
  }
  // Of the simulator (hooks/hooks.h).
  const Hooks& hooks() const { return parameters_.hooks; }

  bool has_private_parts(const Block& b) const { return is_private(b.extent.offset, b.extent.bytes); }
  // Whether some of `bytes` from `offset` of the views on are each rank's own.
  bool is_private(std::size_t offset, std::size_t bytes) const {
    return private_parts_ != nullptr && private_parts_->touch(offset, offset + bytes);
  }
  // Calls visit(at, bytes) for each part of the block that is shared, in stretches between which other
  // threads and ranks may act (in a simulation).
  template <class Visit>
  void for_each_part(const Block& b, Visit&& visit) const;

  // Whether bytes differ, even if a thread writes at the same time (MergeKernels::differ).
  bool differ(const std::byte* a, const std::byte* b, std::size_t bytes) const;
  bool differs_from(const Block& b, const std::byte* twin) const;
  // The private bytes go to the public copy, where they differ. Result: whether any did.
  bool copy_changes(const Block& b) const;
  // The same, and notes the lines.
  bool copy_changes(const Block& b, LineMask& changed) const;
  void copy_to_public(const Block& b) const;
  void copy_from(const Block& b, const std::byte* remote) const;
  // The changes of this rank on top of `twin` stay, the rest becomes `remote`, which comes from `giver`. The
  // twin becomes the result, or `remote` itself (Rebase::yes).
  void merge(const Block& b, std::byte* twin, const std::byte* remote, Rebase rebase, Sharing sharing,
             Rank giver);
  // The changes of another rank to one stretch of a home's block: `remote` goes into its public copy, and
  // into its private bytes, which its threads may change at the same time; their changes stay on top. Under
  // the lock there.
  void merge_at_home(HomeBytes home, std::size_t at, const std::byte* remote, std::size_t bytes,
                     MergeUnit& unit);
  // One part of a merge that began elsewhere, of bytes whose private address is `own`.
  void merge_part(std::byte* own, std::byte* twin, const std::byte* remote, std::size_t bytes, Rebase rebase,
                  Sharing sharing, MergeUnit& unit);
  // The merge that `unit` was made for has found these.
  void note_races(const RaceCount& races, const MergeUnit& unit);
  // How to merge words that both sides have changed (docs/decisions/races.md). `own`: the address of the
  // block's private bytes in this merge.
  MergeUnit unit_of(const Block& b, const std::byte* own, Rank giver);

  // As Protocol::set_store_bound().
  void set_store_bound(const StoreBound& bound) noexcept;

 private:
  StoreBound store_bound() const;
  void check_exclusive(const std::byte* own, std::size_t bytes) const;

  const vm::Space& space_;
  const RankMemory memory_;
  const Parameters& parameters_;
  const PrivateParts* private_parts_;
  trace::Counters& counters_;
  const MergeKernels& kernels_;
  BlockGates<1024> gates_;
  BufferPool scratch_;
  mutable SpinLock store_bound_lock_;
  StoreBound store_bound_;                     // in force
  std::atomic<std::uint32_t> store_bytes_{1};  // its bytes
};

template <class Visit>
void BlockStore::for_each_part(const Block& b, Visit&& visit) const {
  if (private_parts_ == nullptr) {
    hooks().for_each_stretch(0, b.extent.bytes, visit);
    return;
  }
  const std::size_t begin = b.extent.offset;
  private_parts_->for_each_shared_part(begin, begin + b.extent.bytes, [&](std::size_t from, std::size_t to) {
    hooks().for_each_stretch(from - begin, to - from, visit);
  });
}

}  // namespace musubi::coherence
