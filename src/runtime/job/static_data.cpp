#include "runtime/job/static_data.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "os/memory.h"

namespace musubi::runtime {
namespace {

bool is_zero(const std::byte* bytes, std::size_t count) {
  return count == 0 || (bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

// The contents of one range before it is replaced. Reads no untouched page: reading allocates it, and a
// program may have gigabytes of them.
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

// Copies the nonzero blocks. Result: the blocks copied.
std::vector<BlockId> fill_from(const SharedRange& range, const vm::Space& space, const vm::Segment& segment,
                               std::byte* view) {
  const Image image(range);
  std::vector<BlockId> filled;
  const std::uint64_t first = (range.address - segment.base) / segment.block_bytes;
  const std::uint64_t count = (range.bytes + segment.block_bytes - 1) / segment.block_bytes;
  for (std::uint64_t k = first; k < first + count; ++k) {
    const BlockId block{segment.first_block.value + k};
    const vm::Extent extent = space.extent(block);
    const std::size_t at = extent.address - range.address;
    // The segment is zero already, and copying zeros would take memory.
    if (image.is_zero_at(at, extent.bytes)) continue;
    std::memcpy(view + extent.offset, image.bytes_at(at), extent.bytes);
    filled.push_back(block);
  }
  return filled;
}

// The contents of a range before it was replaced, page by page, without zero pages.
class Contents {
 public:
  Contents() = default;
  explicit Contents(const SharedRange& range) {
    const Image image(range);
    const std::size_t page = os::page_bytes();
    for (std::size_t at = 0; at < range.bytes; at += page) {
      if (image.is_zero_at(at, page)) continue;
      const std::byte* const bytes = image.bytes_at(at);
      pages_.push_back({range.address + at, std::vector<std::byte>(bytes, bytes + page)});
    }
  }
  void write() const {
    for (const Page& page : pages_) {
      std::memcpy(reinterpret_cast<void*>(page.address), page.bytes.data(), page.bytes.size());
    }
  }

 private:
  struct Page {
    std::uintptr_t address;
    std::vector<std::byte> bytes;
  };
  std::vector<Page> pages_;
};

}  // namespace

StaticData::StaticData(const JobContext& job, std::span<const SharedRange> globals,
                       std::span<const PrivateBytes> private_bytes)
    : job_(job),
      globals_(globals.begin(), globals.end()),
      private_bytes_(private_bytes.begin(), private_bytes.end()) {}

void StaticData::open(vm::PagedVm& vm) {
  vm_ = &vm;
  add_private_parts(private_bytes_);
}

// All ranks get rank 0's bytes, except for the private ones.
void StaticData::share_globals(coherence::Protocol& protocol) {
  const vm::Space& space = job_.plan.space;
  for (const SharedRange& range : globals_) {
    std::vector<BlockId> filled;
    if (job_.self == Rank{0}) {
      filled = fill_from(range, space, *space.segment_around(range.address), vm_->system_view());
    }
    share_range(range, private_bytes_);
    for (const BlockId block : filled) protocol.adopt(block, 1);
  }
}

void StaticData::share_library(std::span<const SharedRange> ranges,
                               std::span<const PrivateBytes> private_bytes, bool own_bytes_win) {
  add_private_parts(private_bytes);
  for (const SharedRange& range : ranges) {
    const Contents contents = own_bytes_win ? Contents(range) : Contents();
    share_range(range, private_bytes);
    // By stores, as the program would: the blocks are zero on all ranks.
    contents.write();
  }
}

void StaticData::add_private_parts(std::span<const PrivateBytes> private_bytes) {
  std::vector<coherence::PrivateParts::Part> parts;
  for (const PrivateBytes& part : private_bytes) {
    const vm::Segment* segment = job_.plan.space.segment_around(part.address);
    if (segment != nullptr) parts.emplace_back(segment->offset + (part.address - segment->base), part.bytes);
  }
  if (!parts.empty()) private_parts_.add(parts);
}

void StaticData::share_range(const SharedRange& range, std::span<const PrivateBytes> private_bytes) {
  const vm::Segment& segment = *job_.plan.space.segment_around(range.address);
  std::byte* const view = vm_->system_view();
  for (const PrivateBytes& part : private_bytes) {
    if (part.address - range.address >= range.bytes) continue;
    std::memcpy(view + segment.offset + (part.address - segment.base),
                reinterpret_cast<const void*>(part.address), part.bytes);
  }
  const auto index = job_.plan.space.index_of(segment);
  const auto mapped = segment.parts == nullptr
                          ? vm_->map_segment(index, vm::Placement::replace)
                          : vm_->map_part(index, range.address, range.bytes, vm::Placement::replace);
  if (!mapped) job_.abort(1, mapped.error().message);
}

}  // namespace musubi::runtime
