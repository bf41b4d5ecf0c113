// Notices are unpacked unchanged, or are refused when packed.
#include "coherence/core/packed_notice.h"

#include <gtest/gtest.h>

#include <array>

namespace musubi::coherence {
namespace {

constexpr std::uint64_t later_by_most = 0xffff'ffff;

Notice notice(std::uint64_t block, std::uint64_t written, std::uint64_t readable, std::uint32_t writer,
              bool live = false) {
  return {BlockId{block}, LogicalTime{written}, LogicalTime{readable}, Rank{writer}, live};
}

bool fits(const Notice& second) {
  const std::array<Notice, 2> notices{notice(1, 100, 100, 0), second};
  std::array<PackedNotice, 2> packed;
  return pack(notices, base_of(notices), packed);
}

TEST(PackedNotice, ComesOutAsItWentIn) {
  const std::array<Notice, 5> notices{notice(0, 1000, 1000, 0), notice((1ull << 40) - 1, 1007, 1008, 4095),
                                      notice(5, 1000 + later_by_most, 999 + 2 * later_by_most, 1, true),
                                      notice(4, 1002, 0, 2), notice(6, 1001, 1001, (1u << 23) - 1, true)};
  const LogicalTime base = base_of(notices);
  std::array<PackedNotice, 5> packed;
  ASSERT_TRUE(pack(notices, base, packed));
  for (std::size_t i = 0; i < notices.size(); ++i) {
    const Notice out = unpack(packed[i], base);
    EXPECT_EQ(out.block, notices[i].block) << i;
    EXPECT_EQ(out.write_ts, notices[i].write_ts) << i;
    EXPECT_EQ(out.read_ts, notices[i].read_ts) << i;
    EXPECT_EQ(out.writer, notices[i].writer) << i;
    EXPECT_EQ(out.live, notices[i].live) << i;
  }
}

TEST(PackedNotice, NoneNeedNoRoom) {
  EXPECT_TRUE(pack({}, base_of({}), {}));
}

TEST(PackedNotice, WhatIsTooLargeDoesNotGoIn) {
  EXPECT_TRUE(fits(notice(2, 100, 100, 0)));
  EXPECT_FALSE(fits(notice(1ull << 40, 100, 100, 0)));
  EXPECT_FALSE(fits(notice(2, 101 + later_by_most, 101 + later_by_most, 0)));
  EXPECT_FALSE(fits(notice(2, 100, 100 + later_by_most, 0)));
  EXPECT_FALSE(fits(notice(2, 100, 100, 1u << 23)));
}

TEST(PackedNotice, MoreThanThereIsRoomForDoNotGoIn) {
  const std::array<Notice, 3> notices{};
  std::array<PackedNotice, 2> packed;
  EXPECT_FALSE(pack(notices, base_of(notices), packed));
}

}  // namespace
}  // namespace musubi::coherence
