#include "os/crc32c.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace musubi::os {
namespace {

// Test vectors of RFC 3720, B.4.
TEST(Crc32c, HasTheValuesOfTheStandard) {
  constexpr std::string_view digits = "123456789";
  const std::vector<unsigned char> zeros(32), ones(32, 0xff);
  for (const auto sum : {&crc32c, &crc32c_by_table}) {
    EXPECT_EQ(sum(0, digits.data(), digits.size()), 0xe3069283u);
    EXPECT_EQ(sum(0, zeros.data(), zeros.size()), 0x8a9136aau);
    EXPECT_EQ(sum(0, ones.data(), ones.size()), 0x62a8ab43u);
    EXPECT_EQ(sum(0, nullptr, 0), 0u);
  }
}

TEST(Crc32c, IsTheSameByInstructionAndInPieces) {
  Random random(1);
  std::vector<unsigned char> bytes(70'000);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.next());
  for (unsigned i = 0; i < 2000; ++i) {
    const std::size_t begin = random.below(64);
    const std::size_t count = random.below(i % 2 == 0 ? 5000 : bytes.size() - begin);
    const std::size_t cut = random.below(count + 1);
    const std::uint32_t whole = crc32c_by_table(7, bytes.data() + begin, count);
    ASSERT_EQ(crc32c(7, bytes.data() + begin, count), whole);
    ASSERT_EQ(crc32c(crc32c(7, bytes.data() + begin, cut), bytes.data() + begin + cut, count - cut), whole);
  }
}

}  // namespace
}  // namespace musubi::os
