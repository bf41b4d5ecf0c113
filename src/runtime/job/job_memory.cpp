#include "runtime/job/job_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "coherence/core/block_words.h"
#include "os/cpu.h"
#include "runtime/threads/thread_executor.h"
#include "runtime/threads/tracing.h"

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

void JobMemory::share_globals() {
  if (job_.ranks == 1) return;
  static_data_.share_globals(protocol_);
  BarrierPayload nothing{};
  synchronization_.barrier(nothing);
}

void JobMemory::allow_code(std::uintptr_t address) {
  const vm::Space& space = job_.plan.space;
  const vm::Segment* const segment = space.segment_at(address);
  if (segment != nullptr) words_.let_code_run(space.index_of(*segment));
}

// Whether only this rank has ever had the block, and its memory file is empty there and up to `data`.
bool JobMemory::is_untouched(BlockId block, std::uint64_t data) const noexcept {
  if (job_.one_memory) return false;
  const vm::Extent extent = job_.plan.space.extent(block);
  if (job_.plan.space.initial_home(block) != job_.self || extent.offset + extent.bytes > data) return false;
  coherence::BlockWords& words = devices_.files().words()[block.value];
  return std::atomic_ref(words.owner).load() == 0 && std::atomic_ref(words.tail).load() == 0;
}

// Zeros are not stored over zeros: the store would be a change to publish.
void JobMemory::store_zeros(void* address, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(address);
  std::uint64_t data = 0;  // next offset with data in the memory file, from this block on
  while (bytes != 0) {
    const auto block = job_.plan.space.block_at(reinterpret_cast<std::uintptr_t>(at));
    if (!block) return;
    const vm::Extent extent = job_.plan.space.extent(*block);
    const std::size_t left = extent.address + extent.bytes - reinterpret_cast<std::uintptr_t>(at);
    const std::size_t part = std::min(left, bytes);
    if (data < extent.offset) data = os::next_data(devices_.files().private_file(), extent.offset);
    if (!is_untouched(*block, data)) clear(at, part);
    at += part;
    bytes -= part;
  }
}

bool JobMemory::give_back(std::uintptr_t address, std::size_t bytes) noexcept {
  if (job_.ranks == 1) return os::drop_private(address, bytes);
  const auto block = job_.plan.space.block_at(address);
  if (!block) return false;
  const vm::Extent extent = job_.plan.space.extent(*block);
  if (job_.one_memory) return devices_.files().throw_out(extent.offset, bytes);
  coherence::Room* const room = protocol_.room();
  return room != nullptr && ThreadExecutor::of_this_thread(devices_.fabric(), job_.counters)
                                .run(room->discard(*block, bytes / extent.bytes));
}

bool JobMemory::is_unprotected(std::uintptr_t address) const noexcept {
  const vm::Segment* const segment = job_.plan.space.segment_at(address);
  return segment != nullptr && segment->unprotected;
}

// A touch of an unprotected segment opens nothing.
void JobMemory::touch(const void* address, std::size_t bytes, bool for_writing) {
  if (bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (!is_copy_ && is_unprotected(begin))
    return checks_.open({begin, bytes}, for_writing ? vm::Access::write : vm::Access::read);
  const std::size_t page = os::page_bytes();
  auto* byte = static_cast<volatile unsigned char*>(const_cast<void*>(address));
  volatile unsigned char* const last = byte + bytes - 1;
  while (byte <= last) {
    for_writing ? os::touch_for_writing(byte) : os::touch_for_reading(byte);
    byte += page - reinterpret_cast<std::uintptr_t>(byte) % page;
  }
}

Result<void> JobMemory::become_copy(CopySource& source) {
  stop_tracing();
  is_copy_ = true;
  return devices_.vm().become_copy(source);
}

}  // namespace musubi::runtime
