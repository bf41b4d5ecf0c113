// How the calling thread computes: rounding, which exceptions trap, subnormal numbers flushed to zero,
// precision of the x87 unit. Architecture-specific, like touch.h.
#pragma once

#include <cstdint>

namespace musubi::os {

// Plain data; each part has floating_point_bits bits, and stands for the processor's own word.
struct FloatingPointModes {
  std::uint16_t vectors = 0;  // of SSE and AVX
  std::uint16_t x87 = 0;
  bool operator==(const FloatingPointModes&) const = default;
};
inline constexpr unsigned floating_point_bits = 10;

// Signal-safe, as the next.
FloatingPointModes floating_point_modes() noexcept;
// Exceptions that were raised before are forgotten.
void set_floating_point_modes(FloatingPointModes modes) noexcept;

}  // namespace musubi::os
