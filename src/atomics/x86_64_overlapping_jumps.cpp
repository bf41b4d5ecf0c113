#include "atomics/x86_64_overlapping_jumps.h"

#include <algorithm>

namespace musubi::atomics::x86_64 {
namespace {

constexpr std::size_t distance_bytes = 4;
constexpr std::uint8_t jump_opcode = 0xe9;
// A segment prefix that 64-bit code ignores.
constexpr std::uint8_t idle_prefix = 0x3e;
constexpr std::uintptr_t lowest = 64 * 1024;  // the default of vm.mmap_min_addr
// Each is a separate mapping.
constexpr std::size_t pages_max = 1024;

}  // namespace

std::optional<OverlappingJumps::Window> OverlappingJumps::window(std::uintptr_t behind_jump,
                                                                 std::size_t free_bytes,
                                                                 std::span<const std::uint8_t> fixed) {
  std::uint32_t distance = 0;
  for (std::size_t i = 0; i + free_bytes < distance_bytes; ++i) {
    distance |= std::uint32_t{fixed[i]} << (8 * (free_bytes + i));
  }
  const auto nearest = static_cast<std::int64_t>(behind_jump) + static_cast<std::int32_t>(distance);
  const std::int64_t farthest = nearest + (std::int64_t{1} << (8 * free_bytes)) - 1;
  if (farthest < static_cast<std::int64_t>(lowest)) return std::nullopt;
  return Window{static_cast<std::uintptr_t>(std::max<std::int64_t>(nearest, lowest)),
                static_cast<std::uintptr_t>(farthest)};
}

std::optional<std::uintptr_t> OverlappingJumps::land_in(std::uintptr_t base, Page& page, Window window) {
  const std::uintptr_t first = std::max(window.first, base);
  const std::uintptr_t last = std::min(window.last, base + page_bytes - target_bytes);
  std::size_t free_in_a_row = 0;
  for (std::uintptr_t at = first; first <= last && at < last + target_bytes; ++at) {
    free_in_a_row = page.test(at - base) ? 0 : free_in_a_row + 1;
    if (free_in_a_row < target_bytes) continue;
    const std::uintptr_t target = at + 1 - target_bytes;
    for (std::size_t i = 0; i < target_bytes; ++i) page.set(target - base + i);
    return target;
  }
  return std::nullopt;
}

std::optional<std::uintptr_t> OverlappingJumps::land(Window window) {
  const std::uintptr_t first_page = window.first & ~(page_bytes - 1);
  for (auto page = pages_.lower_bound(first_page); page != pages_.end() && page->first <= window.last;
       ++page) {
    if (const auto target = land_in(page->first, page->second, window)) return target;
  }
  if (!add_page(window)) return std::nullopt;
  for (auto page = pages_.lower_bound(first_page); page != pages_.end() && page->first <= window.last;
       ++page) {
    if (const auto target = land_in(page->first, page->second, window)) return target;
  }
  return std::nullopt;
}

// The highest page that can hold a target: the heap needs the room right after a program.
bool OverlappingJumps::add_page(Window window) {
  if (pages_.size() == pages_max) return false;
  constexpr int attempts_max = 4;
  int attempts = 0;
  const auto above = std::ranges::upper_bound(free_, window.last, {}, &AddressInterval::begin);
  for (auto i = static_cast<std::size_t>(above - free_.begin()); i-- > 0;) {
    const AddressInterval gap = free_[i];
    if (gap.end <= window.first) break;
    const std::uintptr_t highest = std::min(window.last, gap.end - target_bytes) & ~(page_bytes - 1);
    if (highest < gap.begin || highest + page_bytes - target_bytes < window.first) continue;
    const bool mapped = map_page_(highest);
    occupy(highest);
    if (mapped) return pages_.emplace(highest, Page{}).second;
    if (++attempts == attempts_max) break;
  }
  return false;
}

void OverlappingJumps::occupy(std::uintptr_t page) {
  const auto gap = std::ranges::upper_bound(free_, page, {}, &AddressInterval::begin) - 1;
  const AddressInterval above{page + page_bytes, gap->end};
  gap->end = page;
  if (above.begin < above.end) free_.insert(gap + 1, above);
}

std::optional<OverlappingJumps::OverlappingJump> OverlappingJumps::take(
    std::uintptr_t address, std::size_t own, std::span<const std::uint8_t> following) {
  for (std::size_t prefixes = 0; prefixes < own; ++prefixes) {
    const std::size_t free_bytes = own - prefixes - 1;
    const std::size_t shared = distance_bytes - free_bytes;
    if (shared > following.size()) return std::nullopt;
    const std::uintptr_t behind_jump = address + own + shared;
    const auto reachable = window(behind_jump, free_bytes, following);
    const auto target = reachable ? land(*reachable) : std::nullopt;
    if (!target) continue;
    OverlappingJump overlapping{std::vector<std::uint8_t>(prefixes, idle_prefix), shared, *target};
    overlapping.code.push_back(jump_opcode);
    const std::uintptr_t distance = *target - behind_jump;
    for (std::size_t i = 0; i < free_bytes; ++i) {
      overlapping.code.push_back(static_cast<std::uint8_t>(distance >> (8 * i)));
    }
    return overlapping;
  }
  return std::nullopt;
}

std::vector<std::uintptr_t> OverlappingJumps::pages() const {
  std::vector<std::uintptr_t> result;
  for (const auto& [page, used] : pages_) result.push_back(page);
  return result;
}

}  // namespace musubi::atomics::x86_64
