#include "sms/shared_memory.h"

#include <algorithm>

#include "base/atomic_operation.h"
#include "base/check.h"
#include "coherence/policy.h"

namespace musubi::sms {
namespace {

constexpr std::size_t shared_segment_bytes = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

coherence::Policy policy_of(const config::Settings& settings) {
  return coherence::policy_named(settings.sms_policy).value_or(coherence::Policy::entry);
}

std::uint8_t merge_unit_of(std::size_t item_bytes) {
  constexpr std::size_t unit_max = 8;
  const std::size_t lowest_bit = item_bytes & (~item_bytes + 1);
  return static_cast<std::uint8_t>(std::min(lowest_bit, unit_max));
}

Result<std::uintptr_t> SharedMemory::add_segment(std::size_t bytes, std::size_t element_bytes,
                                                 Rank page_manager) {
  runtime::SegmentRequest request;
  request.bytes = bytes;
  request.placement = vm::InitialHome::one_rank;
  request.home = page_manager;
  request.policy = policy_of(runtime_.settings());
  request.merge_unit = merge_unit_of(element_bytes);
  request.element_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(element_bytes, UINT32_MAX));
  auto added = runtime_.segments().add(request);
  if (!added) return added.error();
  return added.value()->base;
}

SharedMemory::Room& SharedMemory::room_for(std::size_t element_bytes, Rank page_manager) {
  const auto found = std::find_if(rooms_.begin(), rooms_.end(), [&](const Room& room) {
    return room.element_bytes == element_bytes && room.page_manager == page_manager;
  });
  if (found != rooms_.end()) return *found;
  return rooms_.emplace_back(Room{page_manager, element_bytes, 0, 0});
}

// A request of a block or more would have pages of its own anyway. Elements are counted from the beginning of
// a segment: elements whose size does not divide a line have a segment of their own.
Result<void*> SharedMemory::allocate(std::size_t bytes, std::size_t element_bytes, Rank page_manager) {
  std::uintptr_t begin = 0;
  if (bytes >= runtime_.settings().heap_block_bytes || alignment % element_bytes != 0) {
    auto added = add_segment(bytes, element_bytes, page_manager);
    if (!added) return added.error();
    begin = added.value();
  } else {
    const std::size_t padded = round_up(bytes, alignment);
    Room& room = room_for(element_bytes, page_manager);
    if (room.bytes < padded) {
      const std::size_t wanted = std::max<std::size_t>(shared_segment_bytes, padded);
      auto added = add_segment(wanted, element_bytes, page_manager);
      if (!added) return added.error();
      room.begin = added.value();
      room.bytes = wanted;
    }
    begin = room.begin;
    room.begin += padded;
    room.bytes -= padded;
  }
  allocations_.emplace(begin, bytes);
  return reinterpret_cast<void*>(begin);
}

bool SharedMemory::contains(std::uintptr_t begin, std::size_t bytes) const {
  auto found = allocations_.upper_bound(begin);
  if (found == allocations_.begin()) return false;
  --found;
  const std::size_t offset = begin - found->first;
  return offset < found->second && bytes <= found->second - offset;
}

// Entry consistency changes page managers itself. Fixed homes do not move. A single process has no other
// manager.
void PageManagers::change(std::uintptr_t begin, std::size_t bytes, Rank page_manager) {
  if (policy_of(runtime_.settings()) == coherence::Policy::entry) {
    const auto changed =
        runtime_.segments().change_page_manager(reinterpret_cast<const void*>(begin), bytes, page_manager);
    MUSUBI_CHECK(changed);  // both were checked before
    return;
  }
  const bool moves = policy_of(runtime_.settings()) == coherence::Policy::migrating && runtime_.ranks() > 1;
  if (moves && page_manager == runtime_.self()) to_here_.push_back({begin, bytes});
}

// An atomic operation makes its rank the home of the block. An operation that changes nothing makes no new
// version, so copies of other ranks stay valid.
void PageManagers::carry_out() {
  if (to_here_.empty()) [[likely]]
    return;
  const AtomicOperation nothing{AtomicOperation::Kind::load, sizeof(std::uint64_t)};
  const std::uintptr_t block = runtime_.settings().heap_block_bytes;
  for (const Change& change : to_here_) {
    const std::uintptr_t first = change.begin / block * block;
    for (std::uintptr_t at = first; at < change.begin + change.bytes; at += block)
      (void)runtime_.synchronization().atomic(at, nothing);
  }
  to_here_.clear();
}

}  // namespace musubi::sms
