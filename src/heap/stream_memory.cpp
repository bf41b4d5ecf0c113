#include "heap/stream_memory.h"

#include "base/check.h"
#include "os/memory.h"

namespace musubi::heap {

constinit StreamMemory stream_memory;
constinit thread_local int StreamMemory::allocations_ = 0;

Result<void> StreamMemory::reserve(Rank self, std::uint32_t ranks) {
  MUSUBI_CHECK(bytes_ == 0 && self.value < ranks);
  if (ranks == 1) return {};
  auto all = os::Mapping::at(reinterpret_cast<void*>(base), ranks * bytes_per_rank, os::Protection::read);
  if (!all) return all.error();
  all.value().release();
  own_ = base + self.value * bytes_per_rank;
  if (auto opened = os::protect(reinterpret_cast<void*>(own_), bytes_per_rank, os::Protection::read_write);
      !opened) {
    return opened;
  }
  bytes_ = ranks * bytes_per_rank;
  return {};
}

void* StreamMemory::take(std::size_t bytes) noexcept {
  if (allocations_ == 0 || bytes_ == 0 || bytes > slot_bytes) return nullptr;
  lock_.lock();
  std::size_t slot = lowest_free_;
  while (slot < slots_per_rank && used_[slot]) ++slot;
  if (slot < slots_per_rank) used_[slot] = true;
  lowest_free_ = slot < slots_per_rank ? slot + 1 : slot;
  lock_.unlock();
  return slot < slots_per_rank ? reinterpret_cast<void*>(own_ + slot * slot_bytes) : nullptr;
}

void StreamMemory::give_back(void* memory) noexcept {
  MUSUBI_CHECK(contains(memory), "%p is no memory of a stream", memory);
  const std::size_t slot = slot_of(memory);
  if (slot >= slots_per_rank) return;  // another rank's: a mistake of the program
  lock_.lock();
  used_[slot] = false;
  if (slot < lowest_free_) lowest_free_ = slot;
  lock_.unlock();
}

bool StreamMemory::is_in_use(const void* address) const noexcept {
  const std::size_t slot = slot_of(address);
  return slot < slots_per_rank && used_[slot];
}

}  // namespace musubi::heap
