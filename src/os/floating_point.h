// The calling thread's floating-point modes: rounding, trapped exceptions, flushing of subnormal numbers to
// zero, precision of the x87 unit. Architecture-specific, like touch.h.
#pragma once

#include <cstdint>

namespace musubi::os {

// Plain data; each part has floating_point_bits bits in the layout of the processor's own word.
struct FloatingPointModes {
  std::uint16_t vectors = 0;  // for SSE and AVX
  std::uint16_t x87 = 0;
  bool operator==(const FloatingPointModes&) const = default;
};
inline constexpr unsigned floating_point_bits = 10;

// Signal-safe, as is the next function.
FloatingPointModes floating_point_modes() noexcept;
// Clears raised exceptions.
void set_floating_point_modes(FloatingPointModes modes) noexcept;

}  // namespace musubi::os
