// Merging, as programs rely on it: a byte written by one rank alone arrives at every rank, in whatever order
// the ranks release, and nothing else changes.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "coherence/core/merge.h"
#include "seeds.h"

namespace musubi::coherence {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<const MergeKernels*> variants() {
  std::array<const MergeKernels*, 8> found{};
  const std::size_t count = all_merge_kernels(found.data(), found.size());
  return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)};
}

struct Copy {
  Bytes own, twin;
};

// As a release does it: takes in the published changes, publishes the changes made here.
void release(const MergeKernels& kernels, Copy& copy, Bytes& published) {
  kernels.merge_and_rebase(copy.own.data(), copy.twin.data(), published.data(), published.size(),
                           Sharing::exclusive, nullptr);
  kernels.copy_changes(published.data(), copy.own.data(), published.size());
  copy.twin = published;
}

// Each byte has one writer in each round: every rank ends with every byte.
TEST(MergeProperty, WritesOfOneRankEachArriveEverywhereInAnyOrder) {
  property::for_all(300, [](Random& random) {
    for (const MergeKernels* kernels : variants()) {
      const std::size_t bytes = random.between(1, 700), ranks = random.between(2, 5);
      Bytes published(bytes), expected(bytes);
      std::vector<Copy> copies(ranks, Copy{Bytes(bytes), Bytes(bytes)});
      for (int round = 0; round < 4; ++round) {
        for (std::size_t i = 0; i < bytes; ++i) {
          if (random.chance(60)) continue;
          expected[i] = std::byte(random.below(4));
          copies[random.below(ranks)].own[i] = expected[i];
        }
        const std::size_t first = random.below(ranks);
        for (std::size_t i = 0; i < ranks; ++i) release(*kernels, copies[(first + i) % ranks], published);
        ASSERT_EQ(published, expected) << kernels->name;
        for (Copy& copy : copies) release(*kernels, copy, published);
        for (const Copy& copy : copies) ASSERT_EQ(copy.own, expected) << kernels->name;
      }
    }
  });
}

// A release without a change publishes nothing, and repeating one changes nothing.
TEST(MergeProperty, ReleasesAreIdempotent) {
  property::for_all(300, [](Random& random) {
    const MergeKernels& kernels = *variants()[random.below(variants().size())];
    const std::size_t bytes = random.between(1, 500);
    Bytes published(bytes);
    for (std::byte& byte : published) byte = std::byte(random.next());
    Copy copy{published, published};
    for (std::size_t i = 0; i < bytes; ++i) {
      if (random.chance(20)) copy.own[i] = std::byte(random.next());
    }
    release(kernels, copy, published);
    const Bytes once = published;
    EXPECT_FALSE(kernels.copy_changes(published.data(), copy.own.data(), bytes));
    release(kernels, copy, published);
    EXPECT_EQ(published, once);
    EXPECT_EQ(copy.own, once);
  });
}

// Races are counted where two ranks wrote one byte, and nowhere else.
TEST(MergeProperty, RacesAreCountedByByte) {
  property::for_all(300, [](Random& random) {
    for (const MergeKernels* kernels : variants()) {
      const std::size_t bytes = random.between(1, 700);
      Bytes twin(bytes), own(bytes), remote(bytes);
      std::uint64_t different = 0, same = 0;
      for (std::size_t i = 0; i < bytes; ++i) {
        twin[i] = std::byte(random.below(3));
        own[i] = random.chance(30) ? std::byte(random.below(3)) : twin[i];
        remote[i] = random.chance(30) ? std::byte(random.below(3)) : twin[i];
        const bool both = own[i] != twin[i] && remote[i] != twin[i];
        different += both && own[i] != remote[i];
        same += both && own[i] == remote[i];
      }
      const RaceCount count = kernels->merge_and_rebase(own.data(), twin.data(), remote.data(), bytes,
                                                        Sharing::exclusive, nullptr);
      ASSERT_EQ(count.bytes, different) << kernels->name;
      ASSERT_EQ(count.benign, same) << kernels->name;
    }
  });
}

}  // namespace
}  // namespace musubi::coherence
