#include "vm/checked/state_table.h"

#include <sys/mman.h>

#include <cstring>

#include "base/check.h"
#include "os/memory.h"

namespace musubi::vm {

// The tables of neighbours share pages, which are writable for both.
void StateTable::cover(AddressRange range) noexcept {
  if (range.bytes == 0) return;
  const std::uintptr_t page = os::page_bytes();
  const std::uintptr_t first = (base_ + (range.begin >> shift_)) / page * page;
  const std::uintptr_t last = base_ + ((range.begin + range.bytes - 1) >> shift_);
  const int refused = ::mprotect(reinterpret_cast<void*>(first), last - first + 1, PROT_READ | PROT_WRITE);
  MUSUBI_CHECK(refused == 0, "no memory for the states of %zu bytes", range.bytes);
}

void StateTable::set(AddressRange range, std::uint8_t state) noexcept {
  if (range.bytes == 0) return;
  const std::uintptr_t first = range.begin >> shift_, last = (range.begin + range.bytes - 1) >> shift_;
  std::memset(reinterpret_cast<void*>(base_ + first), state, last - first + 1);
}

}  // namespace musubi::vm
