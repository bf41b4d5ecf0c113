// Shared memory as the program's mmap and mprotect see it: whether code may run there, and zeros.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/job_runtime.h"

namespace musubi::runtime {
namespace {

void clear(std::byte* bytes, std::size_t count) noexcept {
  const std::size_t page = os::page_bytes();
  while (count != 0) {
    const std::size_t part = std::min(count, page);
    const bool is_zero = bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, part - 1) == 0;
    if (!is_zero) std::memset(bytes, 0, part);
    bytes += part;
    count -= part;
  }
}

}  // namespace

void JobRuntime::allow_code(std::uintptr_t address) {
  const vm::Segment* const segment = plan_.space.segment_at(address);
  if (segment == nullptr) return;
  const auto index = plan_.space.index_of(*segment);
  segments_with_code().fetch_or(std::uint64_t{1} << index);
}

bool JobRuntime::may_execute(BlockId block) noexcept {
  const auto index = plan_.space.index_of(plan_.space.segment_of(block));
  return (segments_with_code().load() >> index & 1) != 0;
}

// Whether nobody but this rank has ever had the block, and its memory file has nothing there before `data`.
bool JobRuntime::is_untouched(BlockId block, std::uint64_t data) const noexcept {
  const vm::Extent extent = plan_.space.extent(block);
  if (ranks_ == 1 || plan_.space.initial_home(block) != self_ || extent.offset + extent.bytes > data)
    return false;
  coherence::BlockWords& words = memory_->words()[block.value];
  return std::atomic_ref(words.owner).load() == 0 && std::atomic_ref(words.tail).load() == 0;
}

// What is zero already is not stored: it would be a change, to be published.
void JobRuntime::store_zeros(void* address, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(address);
  std::uint64_t data = 0;  // where the memory file holds something, from this block on
  while (bytes != 0) {
    const auto block = plan_.space.block_at(reinterpret_cast<std::uintptr_t>(at));
    if (!block) return;
    const vm::Extent extent = plan_.space.extent(*block);
    const std::size_t left = extent.address + extent.bytes - reinterpret_cast<std::uintptr_t>(at);
    const std::size_t part = std::min(left, bytes);
    if (data < extent.offset) data = os::next_data(memory_->private_file(), extent.offset);
    if (!is_untouched(*block, data)) clear(at, part);
    at += part;
    bytes -= part;
  }
}

}  // namespace musubi::runtime
