#include "runtime/store_widths.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "atomics/store.h"

namespace musubi::runtime {
namespace {

// The loaded object with this address, or null. Signal-safe, unlike dladdr(3).
const void* object_at(std::uintptr_t address) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  dl_find_object object;
  if (::_dl_find_object(reinterpret_cast<void*>(address), &object) == 0) return object.dlfo_link_map;
#endif
  return nullptr;
}

// Some function of this object: not a const object, which the linker may place elsewhere.
void here() {}

}  // namespace

StoreWidths::StoreWidths() noexcept
    : c_library_(object_at(reinterpret_cast<std::uintptr_t>(&::qsort))),
      self_(object_at(reinterpret_cast<std::uintptr_t>(&here))) {}

std::size_t StoreWidths::bytes_of(std::uintptr_t code, std::uintptr_t address) noexcept {
  constexpr unsigned width_bits = 5;
  std::atomic<std::uint64_t>& place = known_[code % places];
  std::uint64_t known = place.load(std::memory_order_relaxed);
  if (known >> width_bits != code) {
    known = std::uint64_t{code} << width_bits | find(code);
    place.store(known, std::memory_order_relaxed);
  }
  const std::size_t bytes = known & ((1u << width_bits) - 1);
  return bytes != 0 && address % bytes == 0 ? bytes : 0;
}

// Where the program and the runtime are one object, its stores count: the runtime's own go to its own view.
std::size_t StoreWidths::find(std::uintptr_t code) const noexcept {
  const void* const object = object_at(code);
  const bool is_program = object != nullptr && static_cast<const link_map*>(object)->l_name[0] == '\0';
  if (object == nullptr || (!is_program && (object == c_library_ || object == self_))) return 0;
  return atomics::store_bytes(reinterpret_cast<const void*>(code));
}

}  // namespace musubi::runtime
