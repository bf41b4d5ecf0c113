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

}  // namespace musubi::atomics::x86_64
