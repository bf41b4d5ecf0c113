// The program's globals become shared: rank 0's bytes win, everybody else's are dropped (but for the private
// ones).
#include <cstring>

#include "runtime/job_runtime.h"

namespace musubi::runtime {
namespace {

bool is_zero(const std::byte* bytes, std::size_t count) {
  return count == 0 || (bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

}  // namespace

void JobRuntime::share_globals() {
  if (ranks_ == 1) return;
  for (std::size_t i = 0; i < globals_.size(); ++i) {
    const vm::Segment& segment = plan_.space.segments()[plan_.first_globals_segment + i];
    std::byte* const view = vm_->system_view();
    const auto* image = reinterpret_cast<const std::byte*>(segment.base);
    std::vector<BlockId> filled;
    for (std::uint64_t k = 0; k < segment.blocks && self_ == Rank{0}; ++k) {
      const vm::Extent extent = plan_.space.extent(BlockId{segment.first_block.value + k});
      const std::byte* bytes = image + (extent.address - segment.base);
      // Zeros are there already, and copying them would take memory.
      if (is_zero(bytes, extent.bytes)) continue;
      std::memcpy(view + extent.offset, bytes, extent.bytes);
      filled.push_back(BlockId{segment.first_block.value + k});
    }
    for (const PrivateBytes& part : private_bytes_) {
      if (part.address - segment.base >= segment.bytes) continue;
      std::memcpy(view + segment.offset + (part.address - segment.base),
                  reinterpret_cast<const void*>(part.address), part.bytes);
    }
    const auto mapped = vm_->map_segment(plan_.first_globals_segment + i, vm::SigsegvVm::Placement::replace);
    if (!mapped) abort(1, mapped.error().message);
    for (const BlockId block : filled) protocol_->adopt(block, 1);
  }
  BarrierPayload nothing{};
  barrier(nothing);
}

}  // namespace musubi::runtime
