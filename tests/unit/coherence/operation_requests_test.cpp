// Atomic operations requested by another rank: the request is validated before anything is done.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coherence/migrating/for_others/home_operations.h"
#include "coherence/regions.h"
#include "trace/counters.h"

namespace musubi::coherence::migrating {
namespace {

constexpr Rank home{0}, caller{1};
constexpr std::size_t block_bytes = 8192, short_block_bytes = 4096, blocks = 2;

vm::Space space_of_two() {
  vm::Space space(2);
  vm::Segment segment;
  segment.base = 0x10000;
  segment.block_bytes = block_bytes;
  segment.bytes = block_bytes + short_block_bytes;
  space.add(segment);
  return space;
}

class OperationRequests : public testing::Test {
 protected:
  OperationRequests() {
    for (BlockWords* words = this->words(); words != this->words() + blocks; ++words)
      words->write_ts = words->read_ts = words->public_ts = 1;
  }
  // Adds 5 to a word of 8 bytes.
  static OperationRequest request(std::uint64_t block, std::uint32_t place) {
    OperationRequest request{};
    request.block = block;
    request.offset = block * block_bytes;
    request.operand[0] = 5;
    request.initial_home = home.value;
    request.place = place;
    request.kind = AtomicOperation::Kind::add;
    request.bytes = sizeof(std::uint64_t);
    return request;
  }
  fabric::Verdict ask(std::span<const std::byte> arguments) {
    std::array<fabric::RegionView, fabric::region_count_max> regions{};
    regions[words_region.value] = {bytes_of(words_), layout_.region_bytes()};
    regions[published_region.value] = {bytes_of(published_), space_.bytes()};
    regions[private_region.value] = {bytes_of(live_), space_.bytes()};
    std::array<std::byte, sizeof(OperationResult)> result;
    fabric::Call call(caller, home, regions, arguments, result);
    return operate_at_home(call, &side_);
  }
  fabric::Verdict ask(const OperationRequest& request) { return ask(std::as_bytes(std::span(&request, 1))); }
  std::uint64_t live(std::uint64_t block, std::size_t place) const {
    return live_[(block * block_bytes + place) / sizeof(std::uint64_t)];
  }
  bool is_untouched() const { return live_ == Words(live_.size()) && published_ == Words(published_.size()); }

 private:
  using Words = std::vector<std::uint64_t>;
  static std::byte* bytes_of(Words& words) { return reinterpret_cast<std::byte*>(words.data()); }
  BlockWords* words() { return reinterpret_cast<BlockWords*>(words_.data()); }

  const vm::Space space_ = space_of_two();
  const VisitLayout layout_{blocks};
  Words words_ = Words(layout_.region_bytes() / sizeof(std::uint64_t));
  // No request may reach the memory after the regions.
  Words live_ = Words(2 * space_.bytes() / sizeof(std::uint64_t));
  Words published_ = Words(2 * space_.bytes() / sizeof(std::uint64_t));
  std::array<Entry, blocks> entries_{};
  const Parameters parameters_;
  trace::Counters counters_;
  BlockStore store_{space_,
                    {bytes_of(live_), bytes_of(published_), words(), entries_.data(), nullptr},
                    parameters_,
                    nullptr,
                    counters_};
  const HomeSide side_{Rank{0}, layout_, 0, {}, &parameters_, &store_};
};

TEST_F(OperationRequests, AreCarriedOutInsideABlock) {
  EXPECT_EQ(ask(request(0, 0)), changes_at_home::done);
  EXPECT_EQ(ask(request(0, block_bytes - 8)), changes_at_home::done);
  EXPECT_EQ(ask(request(1, short_block_bytes - 8)), changes_at_home::done);
  EXPECT_EQ(live(0, 0), 5u);
  EXPECT_EQ(live(0, block_bytes - 8), 5u);
  EXPECT_EQ(live(1, short_block_bytes - 8), 5u);
}

TEST_F(OperationRequests, OfNoBlockAreMalformed) {
  EXPECT_EQ(ask(request(blocks, 0)), fabric::malformed);
  OperationRequest far_off = request(0, 0);
  far_off.block = ~std::uint64_t{0};
  EXPECT_EQ(ask(far_off), fabric::malformed);
  EXPECT_TRUE(is_untouched());
}

TEST_F(OperationRequests, OfABlockThatLiesElsewhereAreMalformed) {
  OperationRequest elsewhere = request(0, 0);
  elsewhere.offset = block_bytes;
  EXPECT_EQ(ask(elsewhere), fabric::malformed);
  elsewhere.offset = std::uint64_t{0} - 8;  // adding its place would wrap around into the region
  elsewhere.place = 8;
  EXPECT_EQ(ask(elsewhere), fabric::malformed);
  EXPECT_TRUE(is_untouched());
}

TEST_F(OperationRequests, OutsideTheirBlockAreMalformed) {
  EXPECT_EQ(ask(request(0, block_bytes)), fabric::malformed);
  EXPECT_EQ(ask(request(0, block_bytes - 4)), fabric::malformed);
  EXPECT_EQ(ask(request(0, block_bytes + 8)), fabric::malformed);
  EXPECT_EQ(ask(request(1, short_block_bytes)), fabric::malformed);
  EXPECT_EQ(ask(request(0, ~std::uint32_t{0})), fabric::malformed);
  EXPECT_TRUE(is_untouched());
}

TEST_F(OperationRequests, OfUnknownKindOrSizeAreMalformed) {
  OperationRequest unknown = request(0, 0);
  unknown.kind =
      static_cast<AtomicOperation::Kind>(static_cast<unsigned>(AtomicOperation::Kind::compare_exchange) + 1);
  EXPECT_EQ(ask(unknown), fabric::malformed);
  for (const unsigned bytes : {0u, 3u, 32u, 255u}) {
    OperationRequest odd = request(0, 0);
    odd.bytes = static_cast<std::uint8_t>(bytes);
    EXPECT_EQ(ask(odd), fabric::malformed) << bytes;
  }
  EXPECT_TRUE(is_untouched());
}

}  // namespace
}  // namespace musubi::coherence::migrating
