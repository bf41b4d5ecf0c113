// FNV-1a, 64 bits: distinguishes contents that differ by chance. It does not resist forgery.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi {

inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;

// `value` as one step of the hash.
constexpr std::uint64_t fnv_step(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x100000001b3;
}

inline std::uint64_t fnv_hash(const void* data, std::size_t bytes, std::uint64_t hash = fnv_basis) noexcept {
  const auto* const at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = fnv_step(hash, at[i]);
  return hash;
}

}  // namespace musubi
