// CRC-32C (Castagnoli), by the processor's instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::os {

// Of the bytes, after others whose sum is `before`; 0: after none. Any thread, signal-safe.
std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count) noexcept;

// The same without that instruction.
std::uint32_t crc32c_by_table(std::uint32_t before, const void* bytes, std::size_t count) noexcept;

}  // namespace musubi::os
