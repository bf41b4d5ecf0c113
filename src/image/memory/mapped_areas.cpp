#include "image/memory/mapped_areas.h"

#include <algorithm>
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

}  // namespace musubi::image
