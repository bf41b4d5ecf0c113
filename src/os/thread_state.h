// The attributes that a new thread inherits from its creator.
#pragma once

#include <sched.h>

#include <array>
#include <cstdint>

#include "os/signal_calls.h"

namespace musubi::os {

// Plain data.
struct ThreadState {
  SignalBits blocked = 0;
  cpu_set_t processors{};
  std::array<std::uint64_t, 7> scheduling{};  // the kernel's sched_attr: policy, priority, nice
  std::int64_t timer_slack_ns = 0;
  std::int64_t io_priority = 0;
  std::array<std::uint64_t, 17> memory_policy{};  // and its nodes
  std::array<char, 16> name{};
};
// A bit for each member.
using ThreadStateParts = std::uint32_t;

// The calling thread's state. If the runtime has bound it, its processors are those of the process.
ThreadState thread_state() noexcept;
ThreadStateParts differences(const ThreadState& one, const ThreadState& other) noexcept;
// Gives these parts to the calling thread, except for parts that the system forbids. Different processors end
// a binding by the runtime.
void set_thread_state(const ThreadState& state, ThreadStateParts parts) noexcept;

// The calling thread's floating-point modes: rounding, trapped exceptions, flushing of subnormal numbers to
// zero, precision of the x87 unit. Architecture-specific.

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
