// The table of states that compiled code reads before an access (src/checks/abi.h): a byte for each granule
// of the user address space.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address_range.h"
#include "base/result.h"
#include "os/memory.h"
#include "vm/vm.h"

namespace musubi::vm {

// Any thread, also inside a handler.
class StateTable {
 public:
  static constexpr std::uint8_t not_readable = 1, not_writable = 2, not_storable = 4;
  static constexpr std::uint8_t closed = not_readable | not_writable | not_storable;
  static constexpr std::uint8_t open_for_stores = not_readable | not_writable;
  static constexpr unsigned address_bits = 47;

  static constexpr std::size_t bytes(unsigned granule_shift) {
    return std::size_t{1} << (address_bits - granule_shift);
  }
  static constexpr std::uint8_t state_of(Access access) {
    switch (access) {
      case Access::none:
        return closed;
      case Access::read:
        return not_writable | not_storable;
      case Access::write:
        return 0;
    }
    __builtin_unreachable();
  }

  // `base`: of a mapping of bytes(granule_shift) zeros, which outlives the table.
  StateTable(std::uintptr_t base, unsigned granule_shift) noexcept : base_(base), shift_(granule_shift) {}

  // Lets states of the range be set; until then they stay 0. Ends the process if the kernel refuses.
  void cover(AddressRange range) noexcept;
  // REQUIRES: the range is covered, and whole granules.
  void set(AddressRange range, std::uint8_t state) noexcept;
  // The same with the state `closed`, for a range of any size: takes memory for a thousandth of the range's
  // states, and for those that are set later. Ends the process if the kernel refuses. REQUIRES: no state of
  // the range has been set.
  void close(AddressRange range) noexcept;
  // The state of the granule around `address`.
  std::uint8_t state(std::uintptr_t address) const noexcept { return *at(address); }

 private:
  void map_closed(std::uintptr_t begin, std::size_t bytes) noexcept;
  volatile std::uint8_t* at(std::uintptr_t address) const noexcept {
    return reinterpret_cast<volatile std::uint8_t*>(base_ + (address >> shift_));
  }

  const std::uintptr_t base_;
  const unsigned shift_;
};

}  // namespace musubi::vm
