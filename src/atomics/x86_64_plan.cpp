#include "atomics/x86_64_plan.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace musubi::atomics::x86_64 {
namespace {

constexpr std::uint8_t breakpoint = 0xcc;

Change jump(std::uintptr_t from, std::uintptr_t to) {
  Change change{from, jump_bytes, {0xe9}};
  const auto distance = static_cast<std::int32_t>(to - (from + jump_bytes));
  std::memcpy(&change.code[1], &distance, sizeof distance);
  return change;
}

Change short_jump(std::uintptr_t from, std::uintptr_t to) {
  const auto distance = static_cast<std::uint8_t>(to - (from + short_jump_bytes));
  return Change{from, short_jump_bytes, {0xeb, distance}};
}

// No thread executes the rest of an instruction after its jump.
Change filled(Change change, std::size_t bytes) {
  std::fill(change.code.begin() + static_cast<std::ptrdiff_t>(change.bytes),
            change.code.begin() + static_cast<std::ptrdiff_t>(bytes), breakpoint);
  change.bytes = bytes;
  return change;
}

constexpr std::size_t distance_bytes = 4;
constexpr std::uint8_t jump_opcode = 0xe9;
// A segment prefix that 64-bit code ignores.
constexpr std::uint8_t idle_prefix = 0x3e;
constexpr std::uintptr_t lowest = 64 * 1024;  // the default of vm.mmap_min_addr
// Each is a separate mapping.
constexpr std::size_t pages_max = 1024;

// Farther than a short jump reaches from any byte of a room.
constexpr std::uintptr_t around = 256;

}  // namespace

void Plan::change(const Change& change) {
  changed_[change.address] = changes_.size();
  changes_.push_back(change);
}

void Plan::look_up(std::uintptr_t address, std::uint8_t& byte) const {
  auto found = changed_.upper_bound(address);
  if (found == changed_.begin()) return;
  const Change& change = changes_[(--found)->second];
  if (address - change.address < change.bytes) byte = change.code[address - change.address];
}

void Plan::add(const Site& site, std::uintptr_t stub) {
  const std::size_t own = site.entered_inside ? 1 : site.bytes;
  if (own >= jump_bytes) {
    change(filled(jump(site.address, stub), own));
    ++report.jumps;
    return;
  }
  if (add_trampoline(site, stub, own) || add_overlapping_jump(site, stub, own)) return;
  change(Change{site.address, 1, {breakpoint}});
  traps_.push_back({site.address, stub});
  ++report.traps;
}

bool Plan::add_trampoline(const Site& site, std::uintptr_t stub, std::size_t own) {
  if (own < short_jump_bytes) return false;
  const auto trampoline = trampolines_.take(site.address);
  if (!trampoline) return false;
  change(filled(short_jump(site.address, trampoline->place), own));
  change(jump(trampoline->place, stub));
  if (trampoline->padding_jump)
    change(Change{
        trampoline->padding_jump->address, short_jump_bytes, {0xeb, trampoline->padding_jump->distance}});
  ++report.trampolines;
  return true;
}

bool Plan::add_overlapping_jump(const Site& site, std::uintptr_t stub, std::size_t own) {
  std::array<std::uint8_t, Site::code_bytes_max> code = site.code;
  for (std::size_t i = own; i < site.code_bytes; ++i) look_up(site.address + i, code[i]);
  const std::span<const std::uint8_t> following(code.data() + own, site.code_bytes - own);
  const auto overlapping = overlapping_jumps_.take(site.address, own, following);
  if (!overlapping) return false;
  Change head{site.address, own, {}};
  std::copy(overlapping->code.begin(), overlapping->code.end(), head.code.begin());
  change(head);
  trampolines_.close(site.address + own, site.address + own + overlapping->shared_bytes);
  targets_.push_back({overlapping->target, stub});
  ++report.overlapping_jumps;
  return true;
}

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

Trampolines::Trampolines(const std::vector<CodeRange>& padding) {
  for (const CodeRange& range : padding) {
    if (range.bytes < short_jump_bytes + jump_bytes) continue;
    rooms_.push_back({range.begin, range.begin + range.bytes, range.begin});
  }
}

bool Trampolines::reaches(std::uintptr_t from, std::uintptr_t to) {
  const auto distance = static_cast<std::intptr_t>(to - (from + short_jump_bytes));
  return distance >= -128 && distance <= 127;
}

std::vector<Trampolines::Room>::iterator Trampolines::first_from(std::uintptr_t address) {
  return std::lower_bound(rooms_.begin(), rooms_.end(), address < around ? 0 : address - around,
                          [](const Room& candidate, std::uintptr_t from) { return candidate.begin < from; });
}

std::optional<Trampolines::Trampoline> Trampolines::take(std::uintptr_t address) {
  for (auto room = first_from(address); room != rooms_.end() && room->begin < address + around; ++room) {
    const bool is_unused = room->next == room->begin;
    const std::uintptr_t place = room->next + (is_unused ? short_jump_bytes : 0);
    if (place + jump_bytes > room->end || !reaches(address, place)) continue;
    Trampoline trampoline{place, std::nullopt};
    if (is_unused) {
      const std::uintptr_t after_jump = room->begin + short_jump_bytes;
      trampoline.padding_jump = PaddingJump{room->begin, static_cast<std::uint8_t>(room->end - after_jump)};
    }
    room->next = place + jump_bytes;
    return trampoline;
  }
  return std::nullopt;
}

void Trampolines::close(std::uintptr_t begin, std::uintptr_t end) {
  for (auto room = first_from(begin); room != rooms_.end() && room->begin < end; ++room) {
    if (room->end > begin) room->next = room->end;
  }
}

}  // namespace musubi::atomics::x86_64
