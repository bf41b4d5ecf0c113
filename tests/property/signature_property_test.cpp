// Signatures: whatever is added, in whatever order and however little room there is, every earlier write is
// either named with its newest time, or older than the minimum.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "coherence/core/signature.h"
#include "seeds.h"

namespace musubi::coherence {
namespace {

struct Own {
  explicit Own(std::size_t room)
      : board((signature_bytes(room) + 7) / 8), signature(reinterpret_cast<std::byte*>(board.data()), room) {}

  std::vector<std::uint64_t> board;
  Signature signature;
};

using Newest = std::map<std::uint64_t, LogicalTime>;  // by block

std::vector<Notice> draw_notices(Random& random) {
  std::vector<Notice> notices(random.between(1, 200));
  for (Notice& notice : notices) {
    const std::uint64_t write = random.between(1, 500);
    notice = {BlockId{random.below(60)}, LogicalTime{write}, LogicalTime{write + 10},
              Rank{static_cast<std::uint32_t>(random.below(4))}, false};
  }
  return notices;
}

void remember(Newest& newest, const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) {
    LogicalTime& time = newest[notice.block.value];
    time = later(time, notice.write_ts);
  }
}

void expect_covers(const Signature& signature, const Newest& newest, std::size_t room) {
  const SignatureView view = signature.view();
  ASSERT_LE(view.notices.size(), room);
  Newest named;
  for (const Notice& notice : view.notices) {
    ASSERT_EQ(named.count(notice.block.value), 0u) << "two notices of block " << notice.block.value;
    named[notice.block.value] = notice.write_ts;
  }
  for (const auto& [block, time] : newest) {
    const auto found = named.find(block);
    const bool is_named = found != named.end() && found->second >= time;
    ASSERT_TRUE(is_named || time <= view.minimum) << "block " << block;
  }
}

TEST(SignatureProperty, NothingThatWasAddedIsForgotten) {
  property::for_all(500, [](Random& random) {
    const std::size_t room = random.between(1, 80);
    Own own(room);
    Newest newest;
    const std::vector<Notice> notices = draw_notices(random);
    for (const Notice& notice : notices) own.signature.add(notice);
    remember(newest, notices);
    expect_covers(own.signature, newest, room);
  });
}

// Barriers pass signatures on in rounds: neither the ways of a notice nor the number of its arrivals may
// matter.
TEST(SignatureProperty, JoiningCoversBothInAnyOrderAndAgain) {
  property::for_all(500, [](Random& random) {
    const std::size_t room = random.between(1, 80);
    Own a(room), b(random.between(1, 80)), joined(room);
    Newest newest;
    for (Own* own : {&a, &b}) {
      const std::vector<Notice> notices = draw_notices(random);
      for (const Notice& notice : notices) own->signature.add(notice);
      remember(newest, notices);
    }
    const bool a_first = random.chance(50);
    joined.signature.add_all((a_first ? a : b).signature.view());
    joined.signature.add_all((a_first ? b : a).signature.view());
    expect_covers(joined.signature, newest, room);
    const LogicalTime minimum = joined.signature.minimum();
    const std::size_t size = joined.signature.size();
    joined.signature.add_all(SignatureView{minimum, joined.signature.view().notices.first(0)});
    EXPECT_EQ(joined.signature.size(), size);
    EXPECT_EQ(joined.signature.minimum(), minimum);
  });
}

TEST(SignatureProperty, ForgettingKeepsWhatCameLater) {
  property::for_all(500, [](Random& random) {
    const std::size_t room = random.between(1, 80);
    Own own(room);
    for (const Notice& notice : draw_notices(random)) own.signature.add(notice);
    const std::uint64_t mark = own.signature.read([](SignatureView) {});
    Newest newest;
    std::vector<Notice> later_ones = draw_notices(random);
    // Newer than anything before, as a rank's clock only advances.
    for (Notice& notice : later_ones) notice.write_ts = LogicalTime{notice.write_ts.value + 1000};
    for (const Notice& notice : later_ones) own.signature.add(notice);
    remember(newest, later_ones);
    own.signature.forget(mark);
    expect_covers(own.signature, newest, room);
  });
}

}  // namespace
}  // namespace musubi::coherence
