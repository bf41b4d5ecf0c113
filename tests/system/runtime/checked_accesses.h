// Accesses as compiled code makes them: tests of the table of states, calls of entries. GRANULE is log2 of
// the granule in the program's notes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/system/checks_by_hand.h"

namespace musubi::test {

inline std::uint8_t state(const volatile void* address) {
  const auto* const table =
      reinterpret_cast<const volatile std::uint8_t*>(std::uintptr_t{MUSUBI_CHECKS_TABLE});
  return table[reinterpret_cast<std::uintptr_t>(address) >> GRANULE];
}
template <std::size_t entry>
void call(const volatile void* address, std::size_t bytes) {
  CALL_ENTRY(entry, address, bytes);
}
inline std::uint64_t read(const volatile std::uint64_t* word) {
  if ((state(word) & MUSUBI_CHECKS_NOT_READABLE) != 0) call<MUSUBI_CHECKS_ENTRY_READ>(word, 0);
  return *word;
}
inline void write(volatile std::uint64_t* word, std::uint64_t value) {
  if ((state(word) & MUSUBI_CHECKS_NOT_WRITABLE) != 0) call<MUSUBI_CHECKS_ENTRY_WRITE>(word, 0);
  *word = value;
}

// As a store of memory that may be open for stores alone.
inline void store(volatile std::uint64_t* word, std::uint64_t value) {
  if ((state(word) & MUSUBI_CHECKS_NOT_STORABLE) != 0) call<MUSUBI_CHECKS_ENTRY_STORE>(word, 0);
  const bool is_unwritten =
      static_cast<std::uint32_t>(value) == MUSUBI_CHECKS_UNWRITTEN || value >> 32 == MUSUBI_CHECKS_UNWRITTEN;
  if (is_unwritten) call<MUSUBI_CHECKS_ENTRY_WRITE>(word, 0);
  *word = value;
}

}  // namespace musubi::test
