// The pages of one rank. A page is unmapped (this rank is not in its copy set), or without access, readable,
// or writable (paper SMS, section 5.2). The public copy always holds the released and acquired updates: it is
// the twin of the program's bytes, and other ranks read from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/frame_pool.h"
#include "base/sparse_array.h"
#include "base/task.h"
#include "coherence/entry/elements.h"
#include "coherence/entry/ground.h"
#include "coherence/entry/runs.h"
#include "coherence/protocol.h"
#include "coherence/store/block_list.h"

namespace musubi::coherence::entry {

class Pages {
 public:
  explicit Pages(Ground& ground);
  ~Pages();

  // As Protocol::fault().
  Task<bool> fault(BlockId id, vm::Access wanted);
  // Releases the program's writes since the last commit: it becomes known here, with a clock of its own.
  // Under the door.
  Task<> commit();
  // `bytes` are the bytes of `runs`, of one block, at their writers, or newer ones, contiguous. Updates newer
  // than those known here are applied, whether or not the page is mapped; `mapped_only`: only if it is. Under
  // the door.
  Task<> apply(std::span<const Run> runs, const std::byte* bytes, bool mapped_only);
  // Runs `modification` on the block, and makes its changes known, with clock `clock`. Result: the changes.
  // Under the door.
  Task<Runs> modify(BlockId id, Modification& modification, std::uint64_t clock);
  void adopt(BlockId first, std::uint64_t count);

  // Under the door. The blocks written since the last barrier, as far as this rank knows, sorted by place.
  std::span<const Run> known(BlockId id) const;
  // The blocks that commits have changed, in that order, some of them several times; from `position` on.
  std::size_t position() const { return committed_.size(); }
  std::span<const BlockId> committed_since(std::size_t position) const {
    return std::span(committed_).subspan(position);
  }
  void forget_committed() { committed_.clear(); }
  // The blocks of which anything is known, sorted.
  std::span<const BlockId> touched();

  // The bytes of the block that this rank has released or acquired. Under the door.
  const std::byte* released(BlockId id) const { return block(id).published; }

  Rank manager(BlockId id) const;
  // Whether the page is mapped: this rank manages it, or is in its copy set.
  bool is_mapped(BlockId id) const { return manager(id) == ground_.self() || pages_[id.value].mapped; }

  // The following while no thread of the rank runs program code, under the door.
  // Whether a page was mapped since the last call.
  bool take_joined() { return joined_.exchange(false); }
  // Everything that is known is everywhere.
  void forget_known();
  // From the barrier `epoch` on `manager` manages the page. All ranks have applied the updates of that
  // barrier, or will say so in their word `updated`. All ranks call it in the same order.
  Task<> change_manager(BlockId id, Rank manager, std::uint64_t epoch);
  // Takes the access from pages that were open for `unused_max` barriers, and unmaps those without an access
  // for as many barriers since then. 0: never.
  Task<> unmap_unused(std::uint64_t epoch, std::uint64_t unused_max);

 private:
  struct Page {
    Runs* known;                // null: nothing
    std::uint32_t new_manager;  // plus one; 0: still the initial home
    bool mapped;
    bool registered;       // this rank's bit in the manager's copy set is set
    bool watched;          // in mapped_
    std::uint64_t turned;  // the barrier after which it was opened, closed or mapped
  };

  Task<> bring(Block& b);
  Task<> fetch_from(Rank manager, Block& b, std::uint64_t word, std::uint64_t epoch);
  Task<> join(BlockId id);
  Task<> leave(BlockId id);
  void fill(Block& b, const std::byte* remote);
  void open(Block& b, vm::Access wanted);
  void list(Block& b);
  void watch(BlockId id);
  Task<> commit(BlockId id, std::uint64_t clock);
  Runs publish_changes(Block& b, const std::byte* now, const std::byte* before, Run range);
  void make_known(BlockId id, std::span<const Run> runs);
  void copy(const std::byte* from, std::byte* to, std::uint32_t bytes) const;
  Block block(BlockId id) const { return ground_.store.block(id); }
  Run differing_part(const Block& b, std::uint64_t clock) const;
  Elements elements(const Block& b) const { return Elements(ground_.space.segment_of(b.id), b.id); }

  Ground& ground_;
  SparseArray<Page> pages_;
  BlockList dirty_;    // writable, or were since the last commit
  BlockList touched_;  // something is known of them
  BlockList mapped_;   // and managed elsewhere
  std::vector<BlockId, FrameAllocator<BlockId>> committed_;
  std::atomic<bool> joined_{false};
};

}  // namespace musubi::coherence::entry
