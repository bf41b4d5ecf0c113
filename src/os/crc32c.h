// CRC-32C (Castagnoli), computed by the processor's instruction if it has one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::os {

// The sum of the bytes, continued from `before`, the sum of the preceding bytes (0: none). Any thread,
// signal-safe.
std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count) noexcept;

// The same without that instruction.
std::uint32_t crc32c_by_table(std::uint32_t before, const void* bytes, std::size_t count) noexcept;

}  // namespace musubi::os
