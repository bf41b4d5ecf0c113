// The shared space: segments of addresses, cut into blocks. The same on every rank, so that a block's number,
// its address, and its place in the views of every rank are computed, never looked up.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/ids.h"
#include "vm/block_set.h"

namespace musubi::vm {

// Who holds a block of a segment before anyone has written it (coherence.md section 8).
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
  // How many bytes are one value where two ranks have changed parts of the same word: 1, 2, 4, 8, or 0: what
  // is known of the program's stores tells (docs/decisions/merge_unit.md).
  std::uint8_t merge_unit = 0;
  bool holds_stacks = false;
  // Number of its coherence policy among those of the job (coherence/policies.h).
  std::uint8_t policy = 0;
  // Used densely: memory may come in pages of megabytes where the kernel is set up to give such.
  bool huge_pages = false;
  // Null: all of it. Else the blocks that are in use, of a page each; what lies between them is no shared
  // memory and belongs to others. Outlives the space.
  BlockSet* parts = nullptr;
  // Filled in by Space::add:
  BlockId first_block{};
  std::uint64_t blocks = 0;
  std::size_t offset = 0;  // of the segment in the views
};

// Whether the block of index `index` in its segment is in use.
inline bool is_in_use(const Segment& segment, std::uint64_t index) {
  return segment.parts == nullptr || segment.parts->contains(index);
}

// Where a block lies.
struct Extent {
  std::size_t offset;      // in the views
  std::size_t bytes;       // block_bytes, or less for the last block of a segment
  std::uintptr_t address;  // in the user view
};

class Space {
 public:
  static constexpr std::size_t segment_count_max = 16;

  explicit Space(std::uint32_t ranks) : ranks_(ranks) {}

  // Adds a segment behind the ones before; every rank adds the same ones in the same order, before use.
  // Result: the segment with its derived fields.
  const Segment& add(Segment segment) {
    MUSUBI_CHECK(count_ < segment_count_max);
    MUSUBI_CHECK(segment.block_bytes != 0 && (segment.block_bytes & (segment.block_bytes - 1)) == 0);
    segment.first_block = BlockId{blocks_};
    segment.blocks = (segment.bytes + segment.block_bytes - 1) / segment.block_bytes;
    segment.offset = bytes_;
    blocks_ += segment.blocks;
    bytes_ += segment.blocks * segment.block_bytes;
    segments_[count_] = segment;
    return segments_[count_++];
  }

  std::uint32_t ranks() const { return ranks_; }
  std::uint64_t blocks() const { return blocks_; }
  std::size_t bytes() const { return bytes_; }  // of one view
  std::span<const Segment> segments() const { return {segments_.data(), count_}; }
  std::size_t largest_block_bytes() const {  // 1 if there is none
    std::size_t largest = 1;
    for (const Segment& segment : segments()) largest = std::max(largest, segment.block_bytes);
    return largest;
  }

  // The segment of an address, whether or not it is in use there; or null.
  const Segment* segment_around(std::uintptr_t address) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (address - segments_[i].base < segments_[i].bytes) return &segments_[i];
    }
    return nullptr;
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
    for (std::size_t i = 0; i < count_; ++i) {
      if (block.value - segments_[i].first_block.value < segments_[i].blocks) return segments_[i];
    }
    MUSUBI_CHECK(false, "block %lu is outside the space", static_cast<unsigned long>(block.value));
    __builtin_unreachable();
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
  std::uint32_t ranks_;
  std::size_t count_ = 0;
  std::uint64_t blocks_ = 0;
  std::size_t bytes_ = 0;
  std::array<Segment, segment_count_max> segments_{};
};

}  // namespace musubi::vm
