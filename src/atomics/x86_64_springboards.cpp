#include "atomics/x86_64_springboards.h"

#include <algorithm>

namespace musubi::atomics::x86_64 {

Springboards::Springboards(const std::vector<CodeRange>& padding) {
  for (const CodeRange& range : padding) {
    if (range.bytes < short_jump_bytes + jump_bytes) continue;
    rooms_.push_back({range.begin, range.begin + range.bytes, range.begin});
  }
}

bool Springboards::reaches(std::uintptr_t from, std::uintptr_t to) {
  const auto distance = static_cast<std::intptr_t>(to - (from + short_jump_bytes));
  return distance >= -128 && distance <= 127;
}

std::optional<std::uintptr_t> Springboards::take(std::uintptr_t address) {
  constexpr std::uintptr_t around = 256;
  auto room =
      std::lower_bound(rooms_.begin(), rooms_.end(), address < around ? 0 : address - around,
                       [](const Room& candidate, std::uintptr_t from) { return candidate.begin < from; });
  for (; room != rooms_.end() && room->begin < address + around; ++room) {
    const bool is_unused = room->next == room->begin;
    const std::uintptr_t place = room->next + (is_unused ? short_jump_bytes : 0);
    if (place + jump_bytes > room->end || !reaches(address, place)) continue;
    if (is_unused) {
      hops_.push_back({room->begin, static_cast<std::uint8_t>(room->end - (room->begin + short_jump_bytes))});
    }
    room->next = place + jump_bytes;
    return place;
  }
  return std::nullopt;
}

}  // namespace musubi::atomics::x86_64
