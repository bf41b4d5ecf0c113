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

// 0xff for each byte in which the words differ, 0x00 for the others.
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

std::uint64_t merged_word(const std::byte* place, std::uint64_t own, std::uint64_t twin, std::uint64_t remote,
                          WordRule& rule) {
  if (own == twin) return remote;
  const std::uint64_t changed = differing_bytes(own, twin);
  std::uint64_t result = (own & changed) | (remote & ~changed);
  const std::size_t width = rule.word_bytes();
  const std::uint64_t all = width == 8 ? ~std::uint64_t{0} : ~std::uint64_t{0} >> (64 - 8 * width);
  for (std::size_t at = 0; at < 8; at += width) {
    const std::uint64_t word = all << 8 * at;
    if (((result ^ own) & word) == 0 || ((result ^ remote) & word) == 0) continue;
    const auto value = [&](std::uint64_t of) { return (of & word) >> 8 * at; };
    const std::size_t unit = rule.unit_of({place + at, value(own), value(twin), value(remote)});
    const std::uint64_t kept = widened(changed, unit);
    result = (result & ~word) | (((own & kept) | (remote & ~kept)) & word);
  }
  return result;
}

// Another thread may store to bytes beside the `changed` ones. Where the changed bytes are one aligned piece,
// as in most counters and numbers, one store of the piece leaves the others alone. Unlike an indivisible
// exchange it waits for no earlier store. Result: false when the changed bytes are not one piece, and nothing
// was stored.
bool store_piece(std::byte* place, std::uint64_t value, std::uint64_t changed) {
  const int first = __builtin_ctzll(changed) / 8;
  const std::uint64_t piece = changed >> 8 * first;
  const std::uint64_t bits = value >> 8 * first;
  if (piece == 0xff) {
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(place + first), bits, __ATOMIC_RELAXED);
  } else if (piece == 0xffff && first % 2 == 0) {
    __atomic_store_n(reinterpret_cast<std::uint16_t*>(place + first), bits, __ATOMIC_RELAXED);
  } else if (piece == 0xffffffff && first % 4 == 0) {
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(place + first), bits, __ATOMIC_RELAXED);
  } else if (piece == ~std::uint64_t{0}) {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(place), bits, __ATOMIC_RELAXED);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void merge_word(std::byte* own, std::byte* twin, std::uint64_t twin_value, std::uint64_t remote,
                Sharing sharing, Rebase rebase, WordRule& rule, RaceCount& races) {
  auto* const place = reinterpret_cast<std::uint64_t*>(own);
  std::uint64_t mine = __atomic_load_n(place, __ATOMIC_RELAXED);
  if (mine == twin_value && remote != twin_value &&
      store_piece(own, remote, differing_bytes(remote, twin_value))) {
    __builtin_memcpy(twin, &remote, sizeof remote);
    return;
  }
  std::uint64_t result = merged_word(own, mine, twin_value, remote, rule);
  if (sharing == Sharing::exclusive) {
    __atomic_store_n(place, result, __ATOMIC_RELAXED);
  } else {
    // Another thread may store to a part of the word at this moment: that stays, and no thread sees a half.
    while (result != mine &&
           !__atomic_compare_exchange_n(place, &mine, result, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      result = merged_word(own, mine, twin_value, remote, rule);
    }
  }
  const std::uint64_t kept = rebase == Rebase::yes ? remote : result;
  __builtin_memcpy(twin, &kept, sizeof kept);
  if (mine == twin_value) return;
  const std::uint64_t both = differing_bytes(mine, twin_value) & differing_bytes(remote, twin_value);
  const std::uint64_t unequal = both & differing_bytes(mine, remote);
  races.bytes += bytes_in(unequal);
  races.benign += bytes_in(both & ~unequal);
}

const MergeKernels& merge_kernels() {
  const MergeKernels* best = &merge_baseline;
  all_merge_kernels(&best, 1);
  return *best;
}

}  // namespace musubi::coherence
