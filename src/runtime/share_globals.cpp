// The program's globals become shared: rank 0's bytes win, everybody else's are dropped (but for the private
// ones).
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/job_runtime.h"

namespace musubi::runtime {
namespace {

bool is_zero(const std::byte* bytes, std::size_t count) {
  return count == 0 || (bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

// The image of one range before it is replaced. Reading a page that nobody has touched would bring it into
// being, and a program may have gigabytes of them.
class Image {
 public:
  explicit Image(const SharedRange& range)
      : page_(os::page_bytes()),
        bytes_(reinterpret_cast<const std::byte*>(range.address)),
        filled_pages_(range.filled_bytes / page_),
        touched_(os::touched_pages(bytes_ + range.filled_bytes, range.bytes / page_ - filled_pages_)) {}

  const std::byte* bytes_at(std::size_t offset) const { return bytes_ + offset; }
  // Whether [offset, offset + count) is zero.
  bool is_zero_at(std::size_t offset, std::size_t count) const {
    for (std::size_t end = offset + count; offset < end;) {
      const std::size_t part = std::min(end - offset, page_ - offset % page_);
      if (holds_something(offset / page_) && !is_zero(bytes_ + offset, part)) return false;
      offset += part;
    }
    return true;
  }

 private:
  bool holds_something(std::size_t page) const {
    return page < filled_pages_ || touched_[page - filled_pages_];
  }

  std::size_t page_;
  const std::byte* bytes_;
  std::size_t filled_pages_;
  std::vector<bool> touched_;
};

// Copies the blocks that are not zero. Result: these.
std::vector<BlockId> fill_from(const SharedRange& range, const vm::Space& space, const vm::Segment& segment,
                               std::byte* view) {
  const Image image(range);
  std::vector<BlockId> filled;
  for (std::uint64_t k = 0; k < segment.blocks; ++k) {
    const BlockId block{segment.first_block.value + k};
    const vm::Extent extent = space.extent(block);
    const std::size_t at = extent.address - segment.base;
    // Zeros are there already, and copying them would take memory.
    if (image.is_zero_at(at, extent.bytes)) continue;
    std::memcpy(view + extent.offset, image.bytes_at(at), extent.bytes);
    filled.push_back(block);
  }
  return filled;
}

}  // namespace

void JobRuntime::share_globals() {
  if (ranks_ == 1) return;
  for (std::size_t i = 0; i < globals_.size(); ++i) {
    const vm::Segment& segment = plan_.space.segments()[plan_.first_globals_segment + i];
    std::byte* const view = vm_->system_view();
    std::vector<BlockId> filled;
    if (self_ == Rank{0}) filled = fill_from(globals_[i], plan_.space, segment, view);
    for (const PrivateBytes& part : private_bytes_) {
      if (part.address - segment.base >= segment.bytes) continue;
      std::memcpy(view + segment.offset + (part.address - segment.base),
                  reinterpret_cast<const void*>(part.address), part.bytes);
    }
    const auto mapped = vm_->map_segment(plan_.first_globals_segment + i, vm::Placement::replace);
    if (!mapped) abort(1, mapped.error().message);
    for (const BlockId block : filled) protocol_->adopt(block, 1);
  }
  BarrierPayload nothing{};
  barrier(nothing);
}

}  // namespace musubi::runtime
