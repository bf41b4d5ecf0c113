#pragma once

#include <cstdint>

#include "src/checks/abi.h"

namespace musubi::compiler {

// The kinds of checks. To write includes both of the rest; to store and to read say nothing about each other.
enum class Permission : uint8_t { read, store, write };

constexpr Permission permission_for(bool writes) {
  return writes ? Permission::write : Permission::read;
}

// The bit of a state that forbids it.
constexpr uint8_t bit_of(Permission permission) {
  if (permission == Permission::read) return MUSUBI_CHECKS_NOT_READABLE;
  return permission == Permission::store ? MUSUBI_CHECKS_NOT_STORABLE : MUSUBI_CHECKS_NOT_WRITABLE;
}

}  // namespace musubi::compiler
