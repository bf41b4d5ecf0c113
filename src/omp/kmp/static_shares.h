// The share of a thread in a statically scheduled loop, as inclusive bounds: arithmetic alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "omp/iteration_space.h"
#include "omp/kmp/abi.h"

namespace musubi::omp::kmp {

// A loop as the compiler passes it: for (i = lower; i <= upper (>= if step < 0); i += step).
template <class Value>
struct Bounds {
  using Step = std::make_signed_t<Value>;
  using Count = std::make_unsigned_t<Value>;

  Value lower;
  Value upper;
  Step step;

  // Modulo the range of the type, as compilers count: flang passes an empty loop as [0, largest value].
  constexpr Count count() const {
    if (step == 0 || (step > 0 ? lower > upper : lower < upper)) return 0;
    const Count distance = step > 0 ? static_cast<Count>(upper) - static_cast<Count>(lower)
                                    : static_cast<Count>(lower) - static_cast<Count>(upper);
    const Count stride =
        step > 0 ? static_cast<Count>(step) : static_cast<Count>(0) - static_cast<Count>(step);
    return static_cast<Count>(distance / stride + 1);
  }
  constexpr Value value_at(std::uint64_t position) const {
    return static_cast<Value>(static_cast<Count>(lower) +
                              static_cast<Count>(position) * static_cast<Count>(step));
  }
  // The positions [first, last) of this loop. An empty part ends one step before it begins, since flang
  // counts its iterations from both bounds.
  constexpr Bounds part(const Chunk& chunk) const {
    if (chunk.first < chunk.last) return {value_at(chunk.first), value_at(chunk.last - 1), step};
    return step > 0 ? Bounds{1, 0, step} : Bounds{0, 1, step};
  }
  constexpr IterationSpace space() const {
    const auto wide = [](auto number) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    };
    const std::uint64_t first =
        std::is_signed_v<Value> ? wide(lower) : std::uint64_t{static_cast<Count>(lower)};
    const std::uint64_t iterations = count(), stride = wide(step);
    return {first, first + iterations * stride, stride, iterations};
  }
};

struct StaticShare {
  Chunk chunk;               // the first one
  std::uint64_t stride = 0;  // positions from one chunk to the thread's next one
  bool has_last = false;     // whether the thread runs the last iteration
};

// `schedule` without its modifiers. `threads` share `count` > 0 iterations, this is number `thread`.
constexpr StaticShare static_share_of(std::int32_t schedule, std::uint64_t count, std::uint64_t chunk,
                                      std::uint64_t threads, std::uint64_t thread) {
  const bool by_chunks = schedule == schedules::static_chunked || schedule == schedules::distribute_chunked;
  if (by_chunks) {
    const std::uint64_t size = chunk == 0 ? 1 : chunk < count ? chunk : count;
    const std::uint64_t chunks = (count - 1) / size + 1;
    const Chunk first = chunk_number(count, size, thread);
    // A thread without a second chunk is beyond the end after its first, without an overflow where possible.
    const std::uint64_t stride = thread + threads < chunks ? size * threads : count - first.first;
    return {first, stride, (chunks - 1) % threads == thread};
  }
  Chunk share = static_share(count, threads, thread);
  if (schedule == schedules::static_balanced_chunked) {
    const std::uint64_t whole = (count - 1) / threads + 1, unit = chunk == 0 ? 1 : chunk;
    share = chunk_number(count, (whole - 1) / unit * unit + unit, thread);
  }
  return {share, count, share.first < share.last && share.last == count};
}

}  // namespace musubi::omp::kmp
