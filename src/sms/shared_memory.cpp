#include "sms/shared_memory.h"

#include <algorithm>

#include "runtime/address_plan.h"

namespace musubi::sms {
namespace {

constexpr std::size_t shared_segment_bytes = std::size_t{1} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::uint8_t policy_of(const config::Settings& settings) {
  return settings.sms_policy == "home_based" ? runtime::policy_home_based : runtime::policy_migrating;
}

std::uint8_t merge_unit_of(std::size_t item_bytes) {
  constexpr std::size_t unit_max = 8;
  const std::size_t lowest_bit = item_bytes & (~item_bytes + 1);
  return static_cast<std::uint8_t>(std::min(lowest_bit, unit_max));
}

Result<std::uintptr_t> SharedMemory::add_segment(std::size_t bytes, std::uint8_t merge_unit,
                                                 Rank page_manager) {
  runtime::SegmentRequest request;
  request.bytes = bytes;
  request.placement = vm::InitialHome::one_rank;
  request.home = page_manager;
  request.policy = policy_of(runtime_.settings());
  request.merge_unit = merge_unit;
  auto added = runtime_.segments().add(request);
  if (!added) return added.error();
  return added.value()->base;
}

SharedMemory::Room& SharedMemory::room_for(std::uint8_t merge_unit, Rank page_manager) {
  const auto found = std::find_if(rooms_.begin(), rooms_.end(), [&](const Room& room) {
    return room.merge_unit == merge_unit && room.page_manager == page_manager;
  });
  if (found != rooms_.end()) return *found;
  return rooms_.emplace_back(Room{page_manager, merge_unit, 0, 0});
}

// A request of a block or more would share its pages with nobody anyway.
Result<void*> SharedMemory::allocate(std::size_t bytes, std::uint8_t merge_unit, Rank page_manager) {
  std::uintptr_t begin = 0;
  if (bytes >= runtime_.settings().heap_block_bytes) {
    auto added = add_segment(bytes, merge_unit, page_manager);
    if (!added) return added.error();
    begin = added.value();
  } else {
    const std::size_t padded = round_up(bytes, alignment);
    Room& room = room_for(merge_unit, page_manager);
    if (room.bytes < padded) {
      const std::size_t wanted = std::max<std::size_t>(shared_segment_bytes, padded);
      auto added = add_segment(wanted, merge_unit, page_manager);
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

}  // namespace musubi::sms
