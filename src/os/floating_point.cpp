#include "os/floating_point.h"

namespace musubi::os {

#if defined(__x86_64__)

namespace {

// MXCSR: exceptions raised (bits 0 to 5), then subnormals, masks, rounding and flush to zero.
constexpr unsigned modes_shift = 6;
constexpr std::uint32_t modes_mask = (1u << floating_point_bits) - 1;
// The x87 control word: masks (bits 0 to 5), bit 6 set, precision and rounding (bits 8 to 11).
constexpr unsigned masks_mask = 0x3f, always_set = 0x40, unit_mask = 0xf00, unit_shift = 2;

}  // namespace

FloatingPointModes floating_point_modes() noexcept {
  std::uint32_t vectors;
  std::uint16_t x87;
  asm volatile("stmxcsr %0" : "=m"(vectors));
  asm volatile("fnstcw %0" : "=m"(x87));
  return {static_cast<std::uint16_t>(vectors >> modes_shift & modes_mask),
          static_cast<std::uint16_t>((x87 & masks_mask) | (x87 & unit_mask) >> unit_shift)};
}

void set_floating_point_modes(FloatingPointModes modes) noexcept {
  const std::uint32_t vectors = static_cast<std::uint32_t>(modes.vectors) << modes_shift;
  const auto x87 = static_cast<std::uint16_t>((modes.x87 & masks_mask) | always_set |
                                              (modes.x87 << unit_shift & unit_mask));
  asm volatile("fnclex; fldcw %0" ::"m"(x87));
  asm volatile("ldmxcsr %0" ::"m"(vectors));
}

#else
#error "say here how this processor's modes of floating-point arithmetic are read and set"
#endif

}  // namespace musubi::os
