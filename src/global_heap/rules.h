// The rules for changes of a heap's breaks: decisions of the lock's holder, as pure functions. Paper AGH, 3.2
// and 3.4; growth is our extension.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace musubi::global_heap {

// The control data of a global heap, in the heap: the lock, and the breaks that it protects (paper AGH, 3.3).
// Offsets count from the first byte after this structure's page, so that whole pages can be allocated.

// Global memory is below `gbrk`, local memory from `glimit` on; the memory between is free. After the heap
// has grown past local memory, `floor` is the start of its newest part: a break never frees memory below it.
struct Breaks {
  std::uint64_t gbrk = 0;
  std::uint64_t glimit = 0;
  std::uint64_t end = 0;
  std::uint64_t floor = 0;

  friend bool operator==(const Breaks&, const Breaks&) = default;
};

// At the beginning of a heap's region; all words change under the lock. A lock of zero is free.
struct alignas(64) Control {
  std::uint64_t lock = 0;
  Breaks breaks;
};
static_assert(sizeof(Control) == 64 && offsetof(Control, breaks) == 8);

// From the beginning of the region to offset 0 of the heap.
inline constexpr std::uint64_t control_bytes = 4096;

// Why a request was refused; the heap is unchanged.
enum class Refusal : std::uint8_t {
  none,
  stale,     // another rank has moved the break
  full,      // not enough is free
  negative,  // no such offset, or its memory cannot be freed by a break
  capacity,  // the heap cannot become so large
};

struct Request {
  enum class Kind : std::uint8_t {
    look,            // changes nothing
    move_break,      // from `first` to `second`
    extend_break,    // by `first`
    move_limit,      // to `first`
    grow,            // by `first` bytes, to `second` at most
    extend_aligned,  // by `first` bytes that begin at a multiple of `second`, for good
  };
  Kind kind = Kind::look;
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// Free memory that a growth could not join with the new memory, or that an alignment skipped: it belongs to
// the caller, as if allocated.
struct Remainder {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

struct Decision {
  Refusal refusal = Refusal::none;
  Breaks before;
  Breaks after;
  Remainder remainder;

  bool changes() const { return !(before == after); }
};

inline Decision refuse(const Breaks& breaks, Refusal refusal) {
  return {refusal, breaks, breaks, {}};
}

inline Decision decide_break(const Breaks& breaks, std::int64_t place) {
  if (place < 0 || static_cast<std::uint64_t>(place) < breaks.floor) return refuse(breaks, Refusal::negative);
  if (static_cast<std::uint64_t>(place) > breaks.glimit) return refuse(breaks, Refusal::full);
  Decision decision{Refusal::none, breaks, breaks, {}};
  decision.after.gbrk = static_cast<std::uint64_t>(place);
  return decision;
}

inline Decision decide_limit(const Breaks& breaks, std::int64_t place) {
  if (place < 0 || static_cast<std::uint64_t>(place) > breaks.end) return refuse(breaks, Refusal::negative);
  if (static_cast<std::uint64_t>(place) < breaks.gbrk) return refuse(breaks, Refusal::full);
  Decision decision{Refusal::none, breaks, breaks, {}};
  decision.after.glimit = static_cast<std::uint64_t>(place);
  return decision;
}

// Without local memory after the free memory, the free memory becomes longer. Otherwise the heap continues
// after the local memory.
inline Decision decide_growth(const Breaks& breaks, std::int64_t bytes, std::int64_t capacity) {
  if (bytes < 0) return refuse(breaks, Refusal::negative);
  const auto most = static_cast<std::uint64_t>(capacity);
  const auto more = static_cast<std::uint64_t>(bytes);
  if (more > most || breaks.end > most - more) return refuse(breaks, Refusal::capacity);
  Decision decision{Refusal::none, breaks, breaks, {}};
  decision.after.end = breaks.end + more;
  if (breaks.glimit != breaks.end && more != 0) {
    decision.remainder = {breaks.gbrk, breaks.glimit - breaks.gbrk};
    decision.after.gbrk = decision.after.floor = breaks.end;
  }
  if (more != 0) decision.after.glimit = decision.after.end;
  return decision;
}

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// REQUIRES: `alignment` is a power of two. The break never moves back below this memory, which is freed in
// another way; a process that moves the break down means its own memory.
inline Decision decide_aligned(const Breaks& breaks, std::int64_t bytes, std::int64_t alignment) {
  if (bytes < 0) return refuse(breaks, Refusal::negative);
  const auto wanted = static_cast<std::uint64_t>(bytes);
  const auto step = static_cast<std::uint64_t>(alignment);
  const std::uint64_t begin = round_up(breaks.gbrk, step);  // both are below 2^63
  if (begin > breaks.glimit || wanted > breaks.glimit - begin) return refuse(breaks, Refusal::full);
  Decision decision{Refusal::none, breaks, breaks, {breaks.gbrk, begin - breaks.gbrk}};
  decision.after.gbrk = decision.after.floor = begin + wanted;
  return decision;
}

// The growth of a heap that is too full for such an extension: at least by an eighth, to make growth rare.
// Nothing: it cannot become so large.
inline std::optional<Request> growth_for(const Breaks& breaks, std::uint64_t bytes, std::uint64_t alignment,
                                         std::uint64_t capacity) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  const std::uint64_t begin = round_up(breaks.glimit == breaks.end ? breaks.gbrk : breaks.end, alignment);
  if (begin > capacity || bytes > capacity - begin) return std::nullopt;
  const std::uint64_t end = std::max(begin + bytes, breaks.end + std::max(breaks.end / 8, least));
  const std::uint64_t more = std::min(end, capacity) - breaks.end;
  return Request{Request::Kind::grow, static_cast<std::int64_t>(more), static_cast<std::int64_t>(capacity)};
}

inline Decision decide(const Breaks& breaks, const Request& request) {
  std::int64_t place = 0;
  switch (request.kind) {
    case Request::Kind::look:
      break;
    case Request::Kind::move_break:
      if (static_cast<std::uint64_t>(request.first) != breaks.gbrk) return refuse(breaks, Refusal::stale);
      return decide_break(breaks, request.second);
    case Request::Kind::extend_break:
      if (__builtin_add_overflow(static_cast<std::int64_t>(breaks.gbrk), request.first, &place))
        return refuse(breaks, Refusal::full);
      return decide_break(breaks, place);
    case Request::Kind::move_limit:
      return decide_limit(breaks, request.first);
    case Request::Kind::grow:
      return decide_growth(breaks, request.first, request.second);
    case Request::Kind::extend_aligned:
      return decide_aligned(breaks, request.first, request.second);
  }
  return {Refusal::none, breaks, breaks, {}};
}

}  // namespace musubi::global_heap
