#include "atomics/x86_64_branch_targets.h"

namespace musubi::atomics::x86_64 {

BranchTargets::Target* BranchTargets::find(std::uintptr_t address, std::size_t first) noexcept {
  for (std::size_t place = place_of(address); by_address_[place] != 0; place = (place + 1) % places) {
    const std::size_t index = by_address_[place] - std::size_t{1};
    if (index >= first && targets_[index].address == address) return &targets_[index];
  }
  return nullptr;
}

bool BranchTargets::add(std::uintptr_t address, const Frame& frame) noexcept {
  if (count_ == targets_max) return false;
  std::size_t place = place_of(address);
  while (by_address_[place] != 0) place = (place + 1) % places;
  targets_[count_] = {address, frame, true};
  place_[count_] = static_cast<std::uint16_t>(place);
  by_address_[place] = static_cast<std::uint16_t>(++count_);
  return true;
}

// The last one first: so the table becomes what it was before them.
void BranchTargets::drop(std::size_t first) noexcept {
  while (count_ > first) by_address_[place_[--count_]] = 0;
}

}  // namespace musubi::atomics::x86_64
