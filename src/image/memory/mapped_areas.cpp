#include "image/memory/mapped_areas.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/thread_safety.h"

namespace musubi::image {

std::optional<MappedAreas::Area> MappedAreas::at(const void* address) const noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  if (place < lowest_.load() || place >= highest_.load()) return std::nullopt;
  const Held hold(lock_);
  for (const Area& area : areas_) {
    if (place - area.begin < area.end - area.begin) return area;
  }
  return std::nullopt;
}

void MappedAreas::note(const Area& area) {
  forget(area.begin, area.end - area.begin);
  const Held hold(lock_);
  lowest_ = std::min(lowest_.load(), area.begin);
  highest_ = std::max(highest_.load(), area.end);
  areas_.push_back(area);
}

std::vector<MappedAreas::Area> MappedAreas::forget(std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t end = address + bytes;
  std::vector<Area> kept, forgotten;
  const Held hold(lock_);
  for (const Area& area : areas_) {
    Area part = area;
    part.begin = std::max(area.begin, address);
    part.end = std::min(area.end, end);
    if (part.begin >= part.end) {
      kept.push_back(area);
      continue;
    }
    forgotten.push_back(part);
    if (area.begin < part.begin) kept.push_back({area.begin, part.begin, area.reach, area.is_private});
    if (part.end < area.end) kept.push_back({part.end, area.end, area.reach, area.is_private});
  }
  areas_ = std::move(kept);
  return forgotten;
}

namespace {

// After the shared range and the programs (0x55...), far below the libraries (0x7f...).
constexpr std::uintptr_t arena_begin = 0x6000'0000'0000;
constexpr std::size_t arena_bytes = 0x1000'0000'0000;
constexpr std::size_t slice_unit = std::size_t{1} << 30;

}  // namespace

AddressSlice::AddressSlice(Rank self, std::uint32_t ranks) {
  const std::size_t bytes = arena_bytes / ranks / slice_unit * slice_unit;
  range_ = {arena_begin + self.value * bytes, bytes};
  free_[range_.begin] = range_.begin + bytes;
}

void AddressSlice::cut_out(Ranges::iterator range, std::uintptr_t begin, std::uintptr_t end) {
  const auto [free_begin, free_end] = *range;
  free_.erase(range);
  if (free_begin < begin) free_[free_begin] = begin;
  if (end < free_end) free_[end] = free_end;
}

std::uintptr_t AddressSlice::take(std::size_t bytes, std::size_t alignment) noexcept {
  const std::lock_guard hold(lock_);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const std::uintptr_t begin = (range->first + alignment - 1) & ~(alignment - 1);
    if (begin > range->second || range->second - begin < bytes) continue;
    cut_out(range, begin, begin + bytes);
    return begin;
  }
  return 0;
}

bool AddressSlice::take_at(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::lock_guard hold(lock_);
  auto range = free_.upper_bound(address);
  if (range == free_.begin()) return false;
  --range;
  if (range->second < address + bytes) return false;
  cut_out(range, address, address + bytes);
  return true;
}

void AddressSlice::give_back(std::uintptr_t address, std::size_t bytes) noexcept {
  std::uintptr_t begin = std::max(address, range_.begin);
  std::uintptr_t end = std::min(address + bytes, range_.begin + range_.bytes);
  if (begin >= end) return;
  const std::lock_guard hold(lock_);
  auto range = free_.upper_bound(begin);
  if (range != free_.begin() && std::prev(range)->second >= begin) --range;
  while (range != free_.end() && range->first <= end) {
    begin = std::min(begin, range->first);
    end = std::max(end, range->second);
    range = free_.erase(range);
  }
  free_[begin] = end;
}

}  // namespace musubi::image
