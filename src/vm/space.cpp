#include "vm/space.h"

namespace musubi::vm {

Space::Space(const Space& other) : Space(other.ranks_) {
  for (const Segment& segment : other.segments()) {
    const Segment& copy = add(segment);
    if (is_removed(segment)) remove(copy);
  }
  room_blocks_ = other.room_blocks_;
  room_bytes_ = other.room_bytes_;
  room_block_bytes_ = other.room_block_bytes_;
}

void Space::leave_room(std::uint64_t blocks, std::size_t bytes, std::size_t block_bytes) {
  MUSUBI_CHECK(this->blocks() != 0);
  room_block_bytes_ = block_bytes;
  room_blocks_ = this->blocks() + blocks;
  room_bytes_ = bytes_ + bytes;
}

const Segment& Space::add(Segment segment) {
  const std::size_t index = count_.load();
  MUSUBI_CHECK(index < segments_max);
  MUSUBI_CHECK(segment.block_bytes != 0 && (segment.block_bytes & (segment.block_bytes - 1)) == 0);
  segment.first_block = BlockId{blocks()};
  segment.blocks = (segment.bytes + segment.block_bytes - 1) / segment.block_bytes;
  segment.offset = bytes_;
  segment.removed = false;
  bytes_ += segment.blocks * segment.block_bytes;
  const bool fits =
      room_blocks_ == 0 || (blocks() + segment.blocks <= room_blocks_ && bytes_ <= room_bytes_ &&
                            segment.block_bytes <= largest_block_bytes());
  MUSUBI_CHECK(fits, "no room was left for a segment of %zu bytes", segment.bytes);
  segments_[index] = segment;
  count_.store(index + 1, std::memory_order_release);
  if (index >= early_max) {
    sequence_.fetch_add(1);
    std::size_t place = late_count_.load();
    for (; place > 0 && segments_[late(place - 1).load()].base > segment.base; --place) {
      late(place).store(late(place - 1).load());
    }
    late(place).store(static_cast<std::uint32_t>(index));
    late_count_.fetch_add(1);
    sequence_.fetch_add(1);
  }
  blocks_.store(blocks() + segment.blocks, std::memory_order_release);
  return segments_[index];
}

void Space::remove(const Segment& segment) {
  const std::size_t index = index_of(segment);
  MUSUBI_CHECK(index < count_.load() && !is_removed(segment), "segment %zu is not there", index);
  std::atomic_ref(segments_[index].removed).store(true);
  if (index < early_max) return;
  sequence_.fetch_add(1);
  const std::size_t count = late_count_.load();
  std::size_t place = 0;
  while (late(place).load() != index) ++place;
  for (; place + 1 < count; ++place) late(place).store(late(place + 1).load());
  late_count_.store(count - 1);
  sequence_.fetch_add(1);
}

// While the sorted order changes it is useless, and may stay so: a signal handler may have interrupted the
// thread that changes it.
const Segment* Space::late_segment_around(std::uintptr_t address) const {
  const std::uint32_t before = sequence_.load();
  if (before % 2 == 0) {
    const Segment* const found = search(address);
    if (sequence_.load() == before) return found;
  }
  for (const Segment& segment : segments().subspan(early_max)) {
    if (address - segment.base < segment.bytes && !is_removed(segment)) return &segment;
  }
  return nullptr;
}

const Segment* Space::search(std::uintptr_t address) const {
  std::size_t low = 0;
  std::size_t high = late_count_.load();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const Segment& segment = segments_[late(middle).load()];
    if (address - segment.base < segment.bytes) return &segment;
    if (address < segment.base) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return nullptr;
}

const Segment& Space::late_segment_of(BlockId block) const {
  const std::span<const Segment> all = segments();
  std::size_t low = std::min(all.size(), early_max);
  std::size_t high = all.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (block.value - all[middle].first_block.value < all[middle].blocks) return all[middle];
    if (block < all[middle].first_block) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  MUSUBI_CHECK(false, "block %lu is outside the space", static_cast<unsigned long>(block.value));
  __builtin_unreachable();
}

}  // namespace musubi::vm
