// LLVM's OpenMP interface: the types that its calls exchange with compiled code. A `Place` says where a call
// is in the source, and a `GlobalThread` which thread calls, which is ignored, since the thread knows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/placement.h"

namespace musubi::omp::kmp {

struct Place {
  static constexpr std::int32_t of_implicit_barrier = 0x40;

  std::int32_t reserved;
  std::int32_t flags;
};
using GlobalThread = std::int32_t;

// A region's code: (global number of the thread, its number in the team, captured words...).
using Microtask = void (*)(std::int32_t*, std::int32_t*, ...);

// A named critical section; only its address matters.
using CriticalName = std::int32_t[8];

// Schedules (enum sched_type of kmp.h). Those for ordered loops lie 32 above the plain ones; old compilers
// add 128 for loops whose chunks must not be merged.
namespace schedules {
inline constexpr std::int32_t monotonic = 1 << 29, nonmonotonic = 1 << 30, unmerged = 128, ordered = 32;
inline constexpr std::int32_t static_chunked = 33, static_whole = 34, dynamic = 35, guided = 36, runtime = 37,
                              automatic = 38, trapezoidal = 39, static_greedy = 40, static_balanced = 41,
                              guided_iterative = 42, guided_analytical = 43, static_steal = 44,
                              static_balanced_chunked = 45, guided_simd = 46, runtime_simd = 47,
                              distribute_chunked = 91, distribute_whole = 92;
inline constexpr std::int32_t ordered_first = 64, ordered_last = 72, unmerged_first = 160;
}  // namespace schedules

// What the program announced for its next region or league alone. 0 or `no`: nothing.
struct Announced {
  std::uint32_t threads = 0;
  std::uint32_t teams = 0;
  std::uint32_t thread_limit = 0;
  ProcBind bind = ProcBind::no;
};
// Of the calling thread. Gives it, and forgets it.
Announced take_announced();

// The number that the interface calls the calling thread by.
GlobalThread global_thread();

}  // namespace musubi::omp::kmp
