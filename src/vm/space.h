// The shared space: segments of addresses, divided into blocks. The same on every rank, so that a block's
// number, its address, and its offset in the views of every rank are computed, never communicated.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/ids.h"
#include "base/sparse_array.h"

namespace musubi::vm {

// The blocks of a segment that are in use, one bit each: for segments that are reserved whole and filled part
// by part while the job runs. Bits are never cleared. Any thread, also inside a handler; only one thread at a
// time adds.
class BlockSet {
 public:
  explicit BlockSet(std::uint64_t blocks) : words_((blocks + bits - 1) / bits) {}

  void add(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      std::atomic_ref(words_[i / bits]).fetch_or(bit(i), std::memory_order_release);
    }
  }
  // REQUIRES: index below the number of blocks.
  bool contains(std::uint64_t index) const {
    auto& word = const_cast<std::uint64_t&>(words_[index / bits]);
    return (std::atomic_ref(word).load(std::memory_order_acquire) & bit(index)) != 0;
  }
  bool contains_all(std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (!contains(i)) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t bits = 64;
  static std::uint64_t bit(std::uint64_t index) { return std::uint64_t{1} << index % bits; }

  SparseArray<std::uint64_t> words_;
};

// The rank that holds a block of a segment before any rank has written it (coherence.md section 8).
enum class InitialHome : std::uint8_t {
  one_rank,  // `home`
  slices,    // rank i has bytes [i * slice_bytes, (i+1) * slice_bytes): heap arenas, stacks
  cyclic,    // block i belongs to rank i mod ranks
};

struct Segment {
  const char* name = "";
  std::uintptr_t base = 0;      // address in the user view, page-aligned
  std::size_t bytes = 0;        // whole pages; the last block may be shorter
  std::size_t block_bytes = 0;  // a power of two
  InitialHome initial_home = InitialHome::one_rank;
  Rank home{};
  std::size_t slice_bytes = 0;
  // Merge granularity for words that two ranks have changed in part: 1, 2, 4, 8 bytes. 0: determined by the
  // program's stores, as far as they are known (docs/decisions/races.md).
  std::uint8_t merge_unit = 0;
  // For the policy `entry`: bytes of one element of the program's data, counted from `base`. Updates hold
  // whole elements (coherence/entry/elements.h). 0: as merge_unit says, or single bytes.
  std::uint32_t element_bytes = 0;
  bool holds_stacks = false;
  // Number of its coherence policy among those of the job (coherence/policies.h).
  std::uint8_t policy = 0;
  // All accesses are made by code that looks at the states of blocks first (vm/checked): the pages stay open,
  // no fault corrects a wrong state, and a block may be smaller than a page.
  bool unprotected = false;
  // Of an unprotected segment with fixed homes: blocks may be open for stores alone (Vm::open_stores).
  bool home_only = false;
  // Used densely: may get huge pages if the kernel is configured for them.
  bool huge_pages = false;
  // Null: the whole segment is in use. Else the blocks in use, one page each; the addresses between them are
  // not shared memory. Outlives the space.
  BlockSet* parts = nullptr;
  // Filled in by Space:
  BlockId first_block{};
  std::uint64_t blocks = 0;
  std::size_t offset = 0;  // of the segment in the views
  bool removed = false;
};

// Whether the block of index `index` in its segment is in use.
inline bool is_in_use(const Segment& segment, std::uint64_t index) {
  return segment.parts == nullptr || segment.parts->contains(index);
}

// The location of a block.
struct Extent {
  std::size_t offset;      // in the views
  std::size_t bytes;       // block_bytes, or less for the last block of a segment
  std::uintptr_t address;  // in the user view
};

// Lookups: any thread, also in signal handlers and while another thread adds or removes a segment. One thread
// at a time adds and removes, on every rank in the same order.
class Space {
 public:
  static constexpr std::size_t segments_max = 65536;

  explicit Space(std::uint32_t ranks) : ranks_(ranks), segments_(segments_max), late_(segments_max) {}
  Space(const Space& other);
  Space& operator=(const Space&) = delete;

  // Adds a segment after the existing ones. Result: the segment with its derived fields, valid for the life
  // of the space. REQUIRES: it overlaps no other segment; after leave_room(), it fits.
  const Segment& add(Segment segment);
  // Takes the segment's addresses out of the space. Its blocks keep their numbers and their offsets in the
  // views, for operations in progress; no other segment gets them. REQUIRES: no rank touches the segment any
  // more or has a stack in it.
  void remove(const Segment& segment);
  // Call it before tables are made for blocks_max() blocks and bytes_max() bytes. They have room for the
  // present segments and for later ones with `blocks` blocks and `bytes` bytes in sum, each block of at most
  // `block_bytes` bytes or as large as the present ones.
  void leave_room(std::uint64_t blocks, std::size_t bytes, std::size_t block_bytes = 1);

  std::uint32_t ranks() const { return ranks_; }
  std::uint64_t blocks() const { return blocks_.load(std::memory_order_acquire); }
  std::size_t bytes() const { return bytes_; }  // of one view
  std::uint64_t blocks_max() const { return std::max(blocks(), room_blocks_); }
  std::size_t bytes_max() const { return std::max(bytes_, room_bytes_); }
  // In the order of their addition, including removed ones.
  std::span<const Segment> segments() const {
    return {segments_.data(), count_.load(std::memory_order_acquire)};
  }
  std::size_t index_of(const Segment& segment) const {
    return static_cast<std::size_t>(&segment - segments_.data());
  }
  std::size_t largest_block_bytes() const {  // including later segments; 1 if there are none
    std::size_t largest = room_block_bytes_;
    for (const Segment& segment : segments()) largest = std::max(largest, segment.block_bytes);
    return largest;
  }

  // The segment around an address, whether or not the address is in use; or null.
  const Segment* segment_around(std::uintptr_t address) const {
    const std::span<const Segment> all = segments();
    const std::size_t early = std::min(all.size(), early_max);
    for (std::size_t i = 0; i < early; ++i) {
      if (address - all[i].base < all[i].bytes && !is_removed(all[i])) return &all[i];
    }
    return all.size() > early_max ? late_segment_around(address) : nullptr;
  }
  // The segment that has the address in use, or null.
  const Segment* segment_at(std::uintptr_t address) const {
    const Segment* segment = segment_around(address);
    if (segment == nullptr) return nullptr;
    return is_in_use(*segment, (address - segment->base) / segment->block_bytes) ? segment : nullptr;
  }
  std::optional<BlockId> block_at(std::uintptr_t address) const {
    const Segment* segment = segment_at(address);
    if (segment == nullptr) return std::nullopt;
    return BlockId{segment->first_block.value + (address - segment->base) / segment->block_bytes};
  }
  // REQUIRES: block < blocks().
  const Segment& segment_of(BlockId block) const {
    const std::span<const Segment> all = segments();
    const std::size_t early = std::min(all.size(), early_max);
    for (std::size_t i = 0; i < early; ++i) {
      if (block.value - all[i].first_block.value < all[i].blocks) return all[i];
    }
    return late_segment_of(block);
  }
  Extent extent(BlockId block) const {
    const Segment& segment = segment_of(block);
    const std::size_t begin = (block.value - segment.first_block.value) * segment.block_bytes;
    const std::size_t left = segment.bytes - begin;
    return Extent{segment.offset + begin, left < segment.block_bytes ? left : segment.block_bytes,
                  segment.base + begin};
  }
  Rank initial_home(BlockId block) const {
    const Segment& segment = segment_of(block);
    const std::uint64_t index = block.value - segment.first_block.value;
    switch (segment.initial_home) {
      case InitialHome::one_rank:
        return segment.home;
      case InitialHome::slices:
        return Rank{static_cast<std::uint32_t>(index * segment.block_bytes / segment.slice_bytes)};
      case InitialHome::cyclic:
        return Rank{static_cast<std::uint32_t>(index % ranks_)};
    }
    __builtin_unreachable();
  }

 private:
  // The first segments are searched linearly: programs and their libraries have fewer. Later ones are found
  // by binary search.
  static constexpr std::size_t early_max = 16;

  static bool is_removed(const Segment& segment) {
    return std::atomic_ref(const_cast<bool&>(segment.removed)).load(std::memory_order_relaxed);
  }
  const Segment* late_segment_around(std::uintptr_t address) const;
  const Segment* search(std::uintptr_t address) const;
  const Segment& late_segment_of(BlockId block) const;
  std::atomic_ref<std::uint32_t> late(std::size_t place) const {
    return std::atomic_ref(const_cast<std::uint32_t&>(late_[place]));
  }

  std::uint32_t ranks_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> blocks_{0};
  std::size_t bytes_ = 0;
  std::uint64_t room_blocks_ = 0;  // 0: no limit
  std::size_t room_bytes_ = 0;
  std::size_t room_block_bytes_ = 1;
  SparseArray<Segment> segments_;
  // Indices of the segments after the early ones, sorted by address. An odd sequence: being changed.
  std::atomic<std::uint32_t> sequence_{0};
  std::atomic<std::size_t> late_count_{0};
  SparseArray<std::uint32_t> late_;
};

}  // namespace musubi::vm
