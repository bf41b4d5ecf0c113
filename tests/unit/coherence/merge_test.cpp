// Every variant of the merge kernels equals the definition, byte by byte.
#include "coherence/core/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace musubi::coherence {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<const MergeKernels*> variants() {
  std::array<const MergeKernels*, 8> found{};
  const std::size_t count = all_merge_kernels(found.data(), found.size());
  return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Blocks in which runs of all lengths changed: here, remotely, in both places, to equal or different values.
struct Case {
  Bytes own, twin, remote;

  Case(std::mt19937_64& random, std::size_t bytes) : own(bytes), twin(bytes), remote(bytes) {
    for (std::size_t i = 0; i < bytes; ++i) own[i] = twin[i] = remote[i] = std::byte(random());
    for (Bytes* written : {&own, &remote}) {
      for (std::size_t begin = random() % 200; begin < bytes; begin += random() % 200) {
        const std::size_t end = std::min<std::size_t>(bytes, begin + random() % 150);
        for (; begin < end; ++begin) (*written)[begin] = std::byte(random() % 4);
      }
    }
  }
};

constexpr std::array<std::size_t, 12> sizes{0, 1, 7, 16, 31, 64, 100, 127, 256, 1000, 4096, 4096 + 33};

TEST(MergeKernels, DifferFindsASingleByteAnywhere) {
  for (const MergeKernels* kernels : variants()) {
    for (const std::size_t bytes : sizes) {
      Bytes a(bytes), b(bytes);
      EXPECT_FALSE(kernels->differ(a.data(), b.data(), bytes)) << kernels->name << ' ' << bytes;
      for (std::size_t at = 0; at < bytes; ++at) {
        b[at] = std::byte{1};
        EXPECT_TRUE(kernels->differ(a.data(), b.data(), bytes))
            << kernels->name << ' ' << at << " of " << bytes;
        b[at] = std::byte{0};
      }
    }
  }
}

// A thread writes its own bytes while another thread's bytes are compared: earlier bytes that differ at one
// comparison and not at the next must not hide them. One in a hundred results of memcmp is wrong here.
TEST(MergeKernels, BytesThatComeAndGoHideNoOthers) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race that this is about is one by contract";
#endif
  constexpr std::size_t bytes = 1024, comparisons = 1'000'000;
  for (const MergeKernels* kernels : variants()) {
    Bytes live(bytes), twin(bytes);
    live[bytes - 100] = std::byte{1};
    std::atomic<bool> done{false};
    std::thread writer([&] {
      auto& word = reinterpret_cast<std::uint64_t&>(live[64]);
      for (std::uint64_t value = 0; !done.load(std::memory_order_relaxed); value ^= 1) {
        __atomic_store_n(&word, value, __ATOMIC_RELAXED);
      }
    });
    std::size_t missed_by_differ = 0, missed_by_copy = 0;
    for (std::size_t i = 0; i < comparisons; ++i) {
      missed_by_differ += !kernels->differ(live.data(), twin.data(), bytes);
      missed_by_copy += !kernels->copy_changes(twin.data(), live.data(), bytes);
      missed_by_copy += twin[bytes - 100] != std::byte{1};
      twin[bytes - 100] = std::byte{0};
    }
    done.store(true);
    writer.join();
    EXPECT_EQ(missed_by_differ, 0u) << kernels->name;
    EXPECT_EQ(missed_by_copy, 0u) << kernels->name;
  }
}

// The smallest line of a block is a word. Another thread changes two bytes of it at a time.
TEST(MergeKernels, CopyChangesKeepsWordsWholeWhateverTheLength) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the race that this is about is one by contract";
#endif
  constexpr std::uint64_t values[] = {0x00ff, 0x0100};
  constexpr std::size_t copies = 300'000;
  for (const MergeKernels* kernels : variants()) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{32}, std::size_t{40}}) {
      std::vector<std::uint64_t> live(bytes / 8, values[0]), copy(bytes / 8, values[0]);
      std::atomic<bool> done{false};
      std::thread writer([&] {
        for (std::size_t i = 0; !done.load(std::memory_order_relaxed); ++i)
          __atomic_store_n(&live.back(), values[i % 2], __ATOMIC_RELAXED);
      });
      std::size_t torn = 0;
      for (std::size_t i = 0; i < copies; ++i) {
        kernels->copy_changes(reinterpret_cast<std::byte*>(copy.data()),
                              reinterpret_cast<const std::byte*>(live.data()), bytes);
        torn += copy.back() != values[0] && copy.back() != values[1] ? 1u : 0u;
      }
      done.store(true);
      writer.join();
      EXPECT_EQ(torn, 0u) << kernels->name << ' ' << bytes;
    }
  }
}

TEST(MergeKernels, CopyChangesGivesEqualBytesAndTellsWhetherAnyDiffered) {
  std::mt19937_64 random(1);
  for (const MergeKernels* kernels : variants()) {
    for (const std::size_t bytes : sizes) {
      for (int round = 0; round < 50; ++round) {
        const Case c(random, bytes);
        Bytes to = c.twin;
        EXPECT_EQ(kernels->copy_changes(to.data(), c.own.data(), bytes), c.own != c.twin) << kernels->name;
        EXPECT_EQ(to, c.own) << kernels->name << ' ' << bytes;
        EXPECT_FALSE(kernels->copy_changes(to.data(), c.own.data(), bytes)) << kernels->name;
      }
    }
  }
}

TEST(MergeKernels, CopyChangesFindsASingleByteAnywhere) {
  for (const MergeKernels* kernels : variants()) {
    for (std::size_t at = 0; at < 700; ++at) {
      Bytes to(700), from(700);
      from[at] = std::byte{1};
      EXPECT_TRUE(kernels->copy_changes(to.data(), from.data(), 700)) << kernels->name << ' ' << at;
      EXPECT_EQ(to, from);
    }
  }
}

// result = (private != twin) ? private : remote, for each byte.
void expect_merge(const MergeKernels& kernels, const Case& c, bool rebase, Sharing sharing) {
  Case merged = c;
  const auto merge = rebase ? kernels.merge_and_rebase : kernels.merge_into_both;
  const RaceCount races =
      merge(merged.own.data(), merged.twin.data(), c.remote.data(), c.own.size(), sharing, nullptr);
  Bytes own(c.own.size()), twin(c.own.size());
  RaceCount expected;
  for (std::size_t i = 0; i < c.own.size(); ++i) {
    own[i] = c.own[i] != c.twin[i] ? c.own[i] : c.remote[i];
    twin[i] = rebase ? c.remote[i] : own[i];
    if (c.own[i] != c.twin[i] && c.remote[i] != c.twin[i]) {
      if (c.own[i] != c.remote[i] && expected.bytes == 0) expected.first = merged.own.data() + i;
      ++(c.own[i] == c.remote[i] ? expected.benign : expected.bytes);
    }
  }
  EXPECT_EQ(merged.own, own) << kernels.name;
  EXPECT_EQ(merged.twin, twin) << kernels.name;
  EXPECT_EQ(races.bytes, expected.bytes) << kernels.name;
  EXPECT_EQ(races.benign, expected.benign) << kernels.name;
  EXPECT_EQ(races.first, expected.first) << kernels.name;
  EXPECT_FALSE(races.joined) << kernels.name << ": without a rule it is not known";
}

TEST(MergeKernels, MergeSelectsBytes) {
  std::mt19937_64 random(2);
  for (const MergeKernels* kernels : variants()) {
    for (const std::size_t bytes : sizes) {
      for (int round = 0; round < 25; ++round) {
        const Case c(random, bytes);
        for (const bool rebase : {false, true}) {
          for (const Sharing sharing : {Sharing::exclusive, Sharing::open}) {
            expect_merge(*kernels, c, rebase, sharing);
          }
        }
      }
    }
  }
}

// Words of the width stay whole; all other words are merged byte by byte. If 8 bytes are several values, each
// half is a word.
class FixedUnit final : public WordRule {
 public:
  FixedUnit(std::size_t word_bytes, std::size_t unit, bool is_proved = false)
      : WordRule(word_bytes, is_proved), unit_(unit) {}
  std::size_t unit_of(const Conflict& conflict) noexcept override {
    if (unit_ >= conflict.bytes || conflict.bytes == 4) places.push_back(conflict.place);
    return std::min(unit_, conflict.bytes);
  }
  std::vector<const std::byte*> places;

 private:
  std::size_t unit_;
};

// By definition: each piece that this rank has changed keeps all of its bytes if the word is in conflict.
void expect_merge_of_words(const MergeKernels& kernels, const Case& c, bool rebase, Sharing sharing,
                           std::size_t word, std::size_t unit) {
  Case merged = c;
  FixedUnit rule(word, unit);
  const auto merge = rebase ? kernels.merge_and_rebase : kernels.merge_into_both;
  merge(merged.own.data(), merged.twin.data(), c.remote.data(), c.own.size(), sharing, &rule);
  const std::size_t whole = c.own.size() / 8 * 8;
  std::size_t conflicts = 0;
  if (unit < 8) word = 4;
  for (std::size_t at = 0; at < whole; at += word) {
    Bytes joined(word), kept(word);
    for (std::size_t i = 0; i < word; ++i) {
      joined[i] = c.own[at + i] != c.twin[at + i] ? c.own[at + i] : c.remote[at + i];
      const std::size_t piece = at + i / unit * unit;
      const bool changed = !std::equal(&c.own[piece], &c.own[piece] + unit, &c.twin[piece]);
      kept[i] = changed ? c.own[at + i] : c.remote[at + i];
    }
    const bool in_conflict = !std::equal(joined.begin(), joined.end(), &c.own[at]) &&
                             !std::equal(joined.begin(), joined.end(), &c.remote[at]);
    conflicts += in_conflict;
    const Bytes& expected = in_conflict ? kept : joined;
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), &merged.own[at]))
        << kernels.name << " word " << word << " unit " << unit << " at " << at;
    const std::byte* twin = rebase ? &c.remote[at] : expected.data();
    ASSERT_TRUE(std::equal(twin, twin + word, &merged.twin[at])) << kernels.name << " at " << at;
  }
  EXPECT_EQ(rule.places.size(), conflicts) << kernels.name;
}

TEST(MergeKernels, WordsInConflictKeepWhatTheRuleSays) {
  std::mt19937_64 random(3);
  for (const MergeKernels* kernels : variants()) {
    for (const std::size_t bytes : sizes) {
      for (int round = 0; round < 10; ++round) {
        const Case c(random, bytes);
        for (const std::size_t word : {4, 8}) {
          for (std::size_t unit = 1; unit <= word; unit *= 2) {
            for (const Sharing sharing : {Sharing::exclusive, Sharing::open}) {
              expect_merge_of_words(*kernels, c, round % 2 == 0, sharing, word, unit);
            }
          }
        }
      }
    }
  }
}

struct Words {
  alignas(8) std::array<std::uint32_t, 2> own, twin, remote;
};

RaceCount races_of(const MergeKernels& kernels, Words words, FixedUnit rule) {
  return kernels.merge_and_rebase(
      reinterpret_cast<std::byte*>(words.own.data()), reinterpret_cast<std::byte*>(words.twin.data()),
      reinterpret_cast<const std::byte*>(words.remote.data()), sizeof words.own, Sharing::exclusive, &rule);
}

// A word kept whole has lost the other side's change: a race if this side is proved to have stored it whole;
// if the unit was only set, the lost change may be to a neighbouring value.
TEST(MergeKernels, ChangesLostWithAWordAreRacesWhereItsWidthIsProved) {
  const Words neighbours{{0x5, 7}, {0, 7}, {0x900, 7}};
  for (const MergeKernels* kernels : variants()) {
    EXPECT_EQ(races_of(*kernels, neighbours, {4, 4, true}).bytes, 1u) << kernels->name;
    EXPECT_EQ(races_of(*kernels, neighbours, {4, 4, false}).bytes, 0u) << kernels->name;
    EXPECT_EQ(races_of(*kernels, neighbours, {4, 1, true}).bytes, 0u) << kernels->name;
  }
}

TEST(MergeKernels, ARaceSaysWhetherItsWordIsJoined) {
  const Words lone{{0x5, 7}, {0, 7}, {0x6, 8}}, wide{{7, 0x5}, {7, 0}, {7, 0x906}};
  for (const MergeKernels* kernels : variants()) {
    for (const bool is_proved : {false, true}) {
      EXPECT_FALSE(races_of(*kernels, lone, {4, 1, is_proved}).joined) << kernels->name;
      EXPECT_FALSE(races_of(*kernels, lone, {4, 1, is_proved}).first_is_known) << kernels->name;
      EXPECT_TRUE(races_of(*kernels, wide, {4, 1, is_proved}).first_is_known) << kernels->name;
      EXPECT_TRUE(races_of(*kernels, wide, {4, 1, is_proved}).joined) << kernels->name;
      EXPECT_FALSE(races_of(*kernels, wide, {4, 4, is_proved}).joined) << kernels->name;
      EXPECT_EQ(races_of(*kernels, wide, {4, 1, is_proved}).bytes, 1u) << kernels->name;
    }
    EXPECT_EQ(races_of(*kernels, wide, {4, 4, true}).bytes, 2u) << kernels->name;
    EXPECT_TRUE(races_of(*kernels, lone, {8, 1}).joined) << kernels->name;
  }
}

// The same value from both sides is no race, however wide the unit.
TEST(MergeKernels, TheSameValueByBothIsNoRace) {
  const Words same{{0x101, 7}, {0, 7}, {0x101, 7}}, beside{{0x1, 7}, {0, 7}, {0x101, 7}};
  for (const MergeKernels* kernels : variants()) {
    for (const std::size_t unit : {1, 4}) {
      for (const Words& words : {same, beside}) {
        const RaceCount races = races_of(*kernels, words, {4, unit, true});
        EXPECT_EQ(races.bytes, 0u) << kernels->name;
        EXPECT_EQ(races.first, nullptr) << kernels->name;
        EXPECT_FALSE(races.joined) << kernels->name;
      }
    }
  }
}

// Another thread of the rank stores ints during the merge: they are neither lost nor torn.
TEST(MergeKernels, StoresDuringAnOpenMergeStayWhole) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race that this is about is one by contract";
#endif
  constexpr std::size_t bytes = 4096;
  for (const MergeKernels* kernels : variants()) {
    alignas(64) static std::array<std::uint32_t, bytes / 4> own, twin, remote;
    own.fill(0);
    twin.fill(0);
    std::atomic<bool> done{false};
    std::thread writer([&] {
      for (std::uint32_t value = 1; !done.load(std::memory_order_relaxed); ++value) {
        for (std::size_t i = 0; i < own.size(); i += 2) {
          __atomic_store_n(&own[i], (value & 0xff) * 0x01010101, __ATOMIC_RELAXED);
        }
      }
    });
    FixedUnit rule(4, 4);
    std::size_t torn = 0, lost = 0;
    for (std::uint32_t round = 1; round < 3000; ++round) {
      for (std::size_t i = 1; i < remote.size(); i += 2) remote[i] = round;
      kernels->merge_into_both(
          reinterpret_cast<std::byte*>(own.data()), reinterpret_cast<std::byte*>(twin.data()),
          reinterpret_cast<const std::byte*>(remote.data()), bytes, Sharing::open, &rule);
      for (std::size_t i = 0; i < own.size(); i += 2) {
        const std::uint32_t value = __atomic_load_n(&own[i], __ATOMIC_RELAXED);
        torn += value != (value & 0xff) * 0x01010101;
        lost += own[i + 1] != round;
      }
    }
    done.store(true);
    writer.join();
    EXPECT_EQ(torn, 0u) << kernels->name;
    EXPECT_EQ(lost, 0u) << kernels->name;
  }
}

// The other rank has changed a byte of ints that a thread of this rank stores concurrently: the result is
// either the int that this thread has stored (four equal bytes, below 0x80) or the other rank's.
TEST(MergeKernels, StoresOfWholeWordsDuringAnOpenMergeOfTheirPartsStayWhole) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the race that this is about is one by contract";
#endif
  for (const MergeKernels* kernels : variants()) {
    alignas(64) static std::array<std::uint32_t, 64> own, twin, remote;
    own.fill(0);
    twin.fill(0);
    std::atomic<bool> done{false};
    std::thread writer([&] {
      for (std::uint32_t value = 1; !done.load(std::memory_order_relaxed); ++value) {
        for (std::uint32_t& word : own) {
          __atomic_store_n(&word, (value & 0x7f) * 0x01010101, __ATOMIC_RELAXED);
          for (unsigned i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
        }
      }
    });
    FixedUnit rule(4, 4);
    std::size_t torn = 0;
    for (std::uint32_t round = 1; round < 30'000; ++round) {
      remote = twin;
      for (std::size_t i = 0; i < own.size(); i += 2) remote[i] = (twin[i] & ~0xffu) | 0x80 | (round & 0x7f);
      kernels->merge_into_both(
          reinterpret_cast<std::byte*>(own.data()), reinterpret_cast<std::byte*>(twin.data()),
          reinterpret_cast<const std::byte*>(remote.data()), sizeof own, Sharing::open, &rule);
      for (std::size_t i = 0; i < own.size(); ++i) {
        const std::uint32_t value = __atomic_load_n(&own[i], __ATOMIC_RELAXED);
        torn += value != remote[i] && value != (value & 0x7f) * 0x01010101;
      }
    }
    done.store(true);
    writer.join();
    EXPECT_EQ(torn, 0u) << kernels->name;
  }
}

}  // namespace
}  // namespace musubi::coherence
