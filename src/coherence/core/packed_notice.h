// Notices as they travel in a message of the barrier: in half of their bytes, with times counted from a base
// that they share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/check.h"
#include "coherence/core/notice.h"

namespace musubi::coherence {

struct PackedNotice {
  std::uint64_t place;     // block, writer, and whether it is live
  std::uint32_t written;   // after the base
  std::uint32_t readable;  // after it was written; `never`: its copies have no lease

  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
};
static_assert(sizeof(PackedNotice) == 16);

// A base for these notices: the earliest time at which one of them was written.
constexpr LogicalTime base_of(std::span<const Notice> notices) {
  LogicalTime base{std::numeric_limits<std::uint64_t>::max()};
  for (const Notice& notice : notices) base = std::min(base, notice.write_ts);
  return base;
}

namespace packed {

inline constexpr unsigned live_bits = 1, writer_bits = 23, block_bits = 40;
static_assert(live_bits + writer_bits + block_bits == 64);

// How long copies of the version may be held.
constexpr std::uint64_t lease_of(const Notice& notice) {
  MUSUBI_CHECK(notice.read_ts == LogicalTime{} || notice.read_ts >= notice.write_ts);
  return notice.read_ts == LogicalTime{} ? PackedNotice::never : notice.read_ts.value - notice.write_ts.value;
}
constexpr bool fits(const Notice& notice, LogicalTime base) {
  MUSUBI_CHECK(notice.write_ts >= base);
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  const bool lease_fits = notice.read_ts == LogicalTime{} || lease_of(notice) < PackedNotice::never;
  return notice.block.value >> block_bits == 0 && notice.writer.value >> writer_bits == 0 &&
         notice.write_ts.value - base.value <= most && lease_fits;
}

}  // namespace packed

// Result: whether they fit, all of them, and each into its place; otherwise `to` has some of them. `base` is
// theirs.
constexpr bool pack(std::span<const Notice> notices, LogicalTime base, std::span<PackedNotice> to) {
  using namespace packed;
  if (notices.size() > to.size()) return false;
  for (std::size_t i = 0; i < notices.size(); ++i) {
    const Notice& notice = notices[i];
    if (!fits(notice, base)) return false;
    const std::uint64_t writer = std::uint64_t{notice.writer.value} << live_bits | (notice.live ? 1u : 0u);
    to[i] = {notice.block.value << (live_bits + writer_bits) | writer,
             static_cast<std::uint32_t>(notice.write_ts.value - base.value),
             static_cast<std::uint32_t>(lease_of(notice))};
  }
  return true;
}

constexpr Notice unpack(const PackedNotice& from, LogicalTime base) {
  using namespace packed;
  constexpr std::uint64_t writer_mask = (std::uint64_t{1} << writer_bits) - 1;
  const LogicalTime written = base + from.written;
  const LogicalTime readable = from.readable == PackedNotice::never ? LogicalTime{} : written + from.readable;
  return {BlockId{from.place >> (live_bits + writer_bits)}, written, readable,
          Rank{static_cast<std::uint32_t>(from.place >> live_bits & writer_mask)}, (from.place & 1) != 0};
}

}  // namespace musubi::coherence
