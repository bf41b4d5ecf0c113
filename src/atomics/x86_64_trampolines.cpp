#include "atomics/x86_64_trampolines.h"

#include <algorithm>

namespace musubi::atomics::x86_64 {
namespace {

// Farther than a short jump reaches from any byte of a room.
constexpr std::uintptr_t around = 256;

}  // namespace

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
