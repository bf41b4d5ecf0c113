#include "vm/checked/state_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "os/memory.h"

namespace musubi::vm {
namespace {

// A file of `closed` states is mapped over and over. The kernel counts mappings, so a larger table has a
// larger file.
constexpr std::size_t file_bytes_min = std::size_t{2} << 20, mappings_max = 1024;

}  // namespace

// The tables of neighbours share pages, which are writable for both.
void StateTable::cover(AddressRange range) noexcept {
  if (range.bytes == 0) return;
  const std::uintptr_t page = os::page_bytes();
  const std::uintptr_t first = (base_ + (range.begin >> shift_)) / page * page;
  const std::uintptr_t last = base_ + ((range.begin + range.bytes - 1) >> shift_);
  const int refused = ::mprotect(reinterpret_cast<void*>(first), last - first + 1, PROT_READ | PROT_WRITE);
  MUSUBI_CHECK(refused == 0, "no memory for the states of %zu bytes", range.bytes);
}

// The whole pages of the range's states are mapped. The others it shares with its neighbours.
void StateTable::close(AddressRange range) noexcept {
  if (range.bytes == 0) return;
  const std::uintptr_t page = os::page_bytes();
  const std::uintptr_t begin = base_ + (range.begin >> shift_);
  const std::uintptr_t end = base_ + ((range.begin + range.bytes - 1) >> shift_) + 1;
  const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first >= last || last - first < file_bytes_min) return set(range, closed);
  map_closed(first, last - first);
  std::memset(reinterpret_cast<void*>(begin), closed, first - begin);
  std::memset(reinterpret_cast<void*>(last), closed, end - last);
}

// Private mappings: a page of states is copied at the first change of one of them.
void StateTable::map_closed(std::uintptr_t begin, std::size_t bytes) noexcept {
  const std::size_t piece = std::max(file_bytes_min, std::bit_ceil(bytes / mappings_max));
  const auto file = os::create_memory_file("musubi closed states", piece);
  MUSUBI_CHECK(file.ok(), "no memory for the states of %zu bytes", bytes);
  const auto whole = os::Mapping::anywhere(piece, os::Protection::read_write, {file.value().number()});
  MUSUBI_CHECK(whole.ok(), "no memory for the states of %zu bytes", bytes);
  std::memset(whole.value().data(), closed, piece);
  for (std::size_t at = 0; at < bytes; at += piece) {
    void* const wanted = reinterpret_cast<void*>(begin + at);
    const void* const mapped = ::mmap(wanted, std::min(piece, bytes - at), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file.value().number(), 0);
    MUSUBI_CHECK(mapped == wanted, "no memory for the states of %zu bytes", bytes);
  }
}

void StateTable::set(AddressRange range, std::uint8_t state) noexcept {
  if (range.bytes == 0) return;
  const std::uintptr_t first = range.begin >> shift_, last = (range.begin + range.bytes - 1) >> shift_;
  std::memset(reinterpret_cast<void*>(base_ + first), state, last - first + 1);
}

}  // namespace musubi::vm
