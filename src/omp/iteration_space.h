// The iterations of a loop, numbered from 0, so that schedules work on positions and need not handle a sign,
// a direction or an overflow of the loop variable. Values are kept modulo 2^64, for both long and unsigned
// long long.
#pragma once

#include <algorithm>
#include <cstdint>

#include "omp/icv.h"

namespace musubi::omp {

struct IterationSpace {
  std::uint64_t start = 0;
  std::uint64_t end = 0;   // the bound as the program wrote it, exclusive
  std::uint64_t step = 1;  // two's complement
  std::uint64_t count = 0;

  // Signed: for (long i = start; i < end (or > end when step < 0); i += step). REQUIRES: step != 0.
  static constexpr IterationSpace of(long start, long end, long step) {
    const auto first = static_cast<std::uint64_t>(start), last = static_cast<std::uint64_t>(end);
    const auto stride = static_cast<std::uint64_t>(step);
    std::uint64_t count = 0;
    if (step > 0 && start < end) count = (last - first - 1) / stride + 1;
    if (step < 0 && start > end) count = (first - last - 1) / (0 - stride) + 1;
    return {first, last, stride, count};
  }
  // Unsigned, upwards or downwards; downwards the step is the complement of the decrement.
  static constexpr IterationSpace of(bool up, unsigned long long start, unsigned long long end,
                                     unsigned long long step) {
    std::uint64_t count = 0;
    if (up && start < end) count = (end - start - 1) / step + 1;
    if (!up && start > end) count = (start - end - 1) / (0 - step) + 1;
    return {start, end, step, count};
  }

  constexpr std::uint64_t value_at(std::uint64_t position) const { return start + position * step; }
  // The exclusive bound of a chunk that ends before `position`: for the last chunk the program's own bound,
  // since value_at(count) may exceed the type.
  constexpr std::uint64_t bound_at(std::uint64_t position) const {
    return position >= count ? end : value_at(position);
  }
};

// Positions [first, last).
struct Chunk {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// The thread's share if each of `threads` gets one contiguous piece, and the first ones get one more: the
// division that gcc inlines for static schedules. Empty if first == last.
constexpr Chunk static_share(std::uint64_t count, std::uint64_t threads, std::uint64_t thread) {
  const std::uint64_t quotient = count / threads, remainder = count % threads;
  const std::uint64_t first = quotient * thread + std::min(thread, remainder);
  return {first, first + quotient + (thread < remainder ? 1 : 0)};
}

// The thread whose static_share contains `position`. REQUIRES: position < count.
constexpr std::uint64_t static_owner(std::uint64_t count, std::uint64_t threads, std::uint64_t position) {
  const std::uint64_t quotient = count / threads, remainder = count % threads;
  const std::uint64_t long_part = (quotient + 1) * remainder;
  return position < long_part ? position / (quotient + 1) : remainder + (position - long_part) / quotient;
}

// Chunk number `index` of chunks of size `chunk`; empty (first == last == count) after the end.
constexpr Chunk chunk_number(std::uint64_t count, std::uint64_t chunk, std::uint64_t index) {
  if (count == 0 || index > (count - 1) / chunk) return {count, count};
  const std::uint64_t first = index * chunk;
  return {first, first + std::min(chunk, count - first)};
}

// Size of the next guided chunk. REQUIRES: 0 < remaining, 0 < chunk.
constexpr std::uint64_t guided_size(std::uint64_t remaining, std::uint64_t threads, std::uint64_t chunk) {
  const std::uint64_t share = remaining / threads + (remaining % threads != 0 ? 1 : 0);
  return std::min(std::max(share, chunk), remaining);
}

// A loop as a work-sharing construct.
struct LoopSpecification {
  IterationSpace space;
  Schedule schedule = Schedule::static_chunks;
  std::uint64_t chunk = 0;  // 0: static: one piece per thread; otherwise as 1
  bool ordered = false;
  bool one_by_one = false;  // sections: even a team of one takes them one at a time
};

}  // namespace musubi::omp
