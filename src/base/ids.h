// The identifiers of the system. Each is its own type, so that a rank cannot be passed where a block is
// meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace musubi {

template <class Tag, class Representation>
struct StrongId {
  Representation value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Representation v) : value(v) {}
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

// One process of the job: 0 .. ranks-1.
using Rank = StrongId<struct RankTag, std::uint32_t>;
// One block of the shared space, numbered from 0 across all segments (see vm/space.h).
using BlockId = StrongId<struct BlockTag, std::uint64_t>;
// One lock of the job (user locks, critical sections, ordered sections).
using LockId = StrongId<struct LockTag, std::uint32_t>;
// One reader-writer lock, and one condition, of the job.
using RwLockId = StrongId<struct RwLockTag, std::uint32_t>;
using ConditionId = StrongId<struct ConditionTag, std::uint32_t>;

// A point of logical time (paper TS, Tardis): 0 means "before the first write: all bytes are zero".
struct LogicalTime {
  std::uint64_t value = 0;

  constexpr LogicalTime() = default;
  constexpr explicit LogicalTime(std::uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(LogicalTime, LogicalTime) = default;
  friend constexpr LogicalTime operator+(LogicalTime t, std::uint64_t ticks) {
    return LogicalTime{t.value + ticks};
  }
};

constexpr LogicalTime later(LogicalTime a, LogicalTime b) {
  return a < b ? b : a;
}

}  // namespace musubi

template <class Tag, class Representation>
struct std::hash<musubi::StrongId<Tag, Representation>> {
  std::size_t operator()(musubi::StrongId<Tag, Representation> id) const noexcept {
    return std::hash<Representation>{}(id.value);
  }
};
