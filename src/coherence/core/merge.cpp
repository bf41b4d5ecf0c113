#include "coherence/core/merge.h"

namespace musubi::coherence {

extern const MergeKernels merge_baseline;
#ifdef __x86_64__
extern const MergeKernels merge_avx2;
extern const MergeKernels merge_avx512;
#endif

std::size_t all_merge_kernels(const MergeKernels** kernels, std::size_t max) {
  std::size_t count = 0;
#ifdef __x86_64__
  if (count < max && __builtin_cpu_supports("avx512bw")) kernels[count++] = &merge_avx512;
  if (count < max && __builtin_cpu_supports("avx2")) kernels[count++] = &merge_avx2;
#endif
  if (count < max) kernels[count++] = &merge_baseline;
  return count;
}

namespace {

// 0xff for each byte in which the words differ, 0x00 for each other byte.
std::uint64_t differing_bytes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t difference = a ^ b;
  const std::uint64_t marks = (((difference & low_bits) + low_bits) | difference) & ~low_bits;
  return (marks >> 7) * 0xff;
}

std::uint64_t bytes_in(std::uint64_t mask) {
  return static_cast<std::uint64_t>(__builtin_popcountll(mask)) / 8;
}

// Each mark is spread over its aligned piece of `unit` bytes.
std::uint64_t widened(std::uint64_t mask, std::size_t unit) {
  if (unit > 1) mask |= (mask & 0xff00ff00ff00ff00) >> 8 | (mask & 0x00ff00ff00ff00ff) << 8;
  if (unit > 2) mask |= (mask & 0xffff0000ffff0000) >> 16 | (mask & 0x0000ffff0000ffff) << 16;
  if (unit > 4) mask |= mask >> 32 | mask << 32;
  return mask;
}

// The 8 bytes at `place` of the three sides.
struct Sides {
  const std::byte* place;
  std::uint64_t own, twin, remote;
};

struct MergedWord {
  std::uint64_t value;
  std::uint64_t asked = 0;   // marks the words that the rule was asked about
  std::uint64_t joined = 0;  // of these the ones of which each side gave a part
};

// Merges the bytes from `at` to `at` + `width`, which are merged by byte so far, as the rule says.
void keep_whole_values(const Sides& sides, std::size_t at, std::size_t width, WordRule& rule,
                       MergedWord& merged) {
  constexpr std::size_t int_bytes = 4;
  const std::uint64_t word = ~std::uint64_t{0} >> (64 - 8 * width) << 8 * at;
  const auto is_of_both = [&] {
    return ((merged.value ^ sides.own) & word) != 0 && ((merged.value ^ sides.remote) & word) != 0;
  };
  if (!is_of_both()) return;
  const auto value = [&](std::uint64_t of) { return (of & word) >> 8 * at; };
  const std::size_t unit =
      rule.unit_of({sides.place + at, width, value(sides.own), value(sides.twin), value(sides.remote)});
  if (unit < width && width > int_bytes) {
    keep_whole_values(sides, at, width / 2, rule, merged);
    keep_whole_values(sides, at + width / 2, width / 2, rule, merged);
    if (is_of_both()) merged.joined |= word;
    return;
  }
  merged.asked |= word;
  const std::uint64_t kept = widened(differing_bytes(sides.own, sides.twin), unit);
  merged.value = (merged.value & ~word) | (((sides.own & kept) | (sides.remote & ~kept)) & word);
  if (is_of_both()) merged.joined |= word;
}

MergedWord merged_word(const std::byte* place, std::uint64_t own, std::uint64_t twin, std::uint64_t remote,
                       WordRule& rule) {
  if (own == twin) return {remote};
  const std::uint64_t changed = differing_bytes(own, twin);
  MergedWord merged{(own & changed) | (remote & ~changed)};
  for (std::size_t at = 0; at < 8; at += rule.word_bytes())
    keep_whole_values({place, own, twin, remote}, at, rule.word_bytes(), rule, merged);
  return merged;
}

// `place`: of the word, where this side had `own`.
void count_races(const std::byte* place, std::uint64_t own, std::uint64_t twin, std::uint64_t remote,
                 const MergedWord& result, const WordRule& rule, RaceCount& races) {
  const std::uint64_t theirs = differing_bytes(remote, twin);
  const std::uint64_t both = differing_bytes(own, twin) & theirs;
  races.benign += bytes_in(both & ~differing_bytes(own, remote));
  std::uint64_t lost = theirs & differing_bytes(result.value, remote);
  if (!rule.keeps_what_is_proved()) lost &= both;
  if (lost == 0) return;
  if (races.bytes == 0) {
    races.first = place + __builtin_ctzll(lost) / 8;
    races.first_is_known = (result.asked & lost & -lost) != 0;
  }
  races.bytes += bytes_in(lost);
  races.joined = races.joined || (result.joined & lost) != 0;
}

// Another thread may store to bytes next to those that are `changed`. If these are a whole word, one store
// leaves them alone, and waits for no earlier store, as an indivisible exchange does. Not where they are a
// part of one: a store of the whole word may come just before. Result: whether that was so; otherwise nothing
// was stored.
bool store_whole_word(std::byte* place, std::uint64_t value, std::uint64_t changed, std::size_t word_bytes) {
  constexpr std::uint64_t low_half = 0xffffffff;
  if (changed == ~std::uint64_t{0}) {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(place), value, __ATOMIC_RELAXED);
    return true;
  }
  if (word_bytes != 4 || (changed != low_half && changed != ~low_half)) return false;
  const unsigned at = changed == low_half ? 0 : 4;
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(place + at), value >> 8 * at, __ATOMIC_RELAXED);
  return true;
}

}  // namespace

void merge_word(std::byte* own, std::byte* twin, std::uint64_t twin_value, std::uint64_t remote,
                Sharing sharing, Rebase rebase, WordRule& rule, RaceCount& races) {
  auto* const place = reinterpret_cast<std::uint64_t*>(own);
  std::uint64_t mine = __atomic_load_n(place, __ATOMIC_RELAXED);
  if (mine == twin_value && remote != twin_value && sharing == Sharing::open &&
      store_whole_word(own, remote, differing_bytes(remote, twin_value), rule.word_bytes())) {
    __builtin_memcpy(twin, &remote, sizeof remote);
    return;
  }
  MergedWord result = merged_word(own, mine, twin_value, remote, rule);
  if (sharing == Sharing::exclusive) {
    __atomic_store_n(place, result.value, __ATOMIC_RELAXED);
  } else {
    // Another thread may store to a part of the word at this moment: that stays, and no thread sees a half.
    while (result.value != mine && !__atomic_compare_exchange_n(place, &mine, result.value, false,
                                                                __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      result = merged_word(own, mine, twin_value, remote, rule);
    }
  }
  const std::uint64_t kept = rebase == Rebase::yes ? remote : result.value;
  __builtin_memcpy(twin, &kept, sizeof kept);
  if (mine != twin_value) count_races(own, mine, twin_value, remote, result, rule, races);
}

const MergeKernels& merge_kernels() {
  const MergeKernels* best = &merge_baseline;
  all_merge_kernels(&best, 1);
  return *best;
}

}  // namespace musubi::coherence
