#include "fabric/copy_words.h"

#include <algorithm>
#include <cstdint>

// Readers and writers of a region race word by word, as the port allows.
#define MUSUBI_RACES_BY_CONTRACT __attribute__((no_sanitize("thread")))

namespace musubi::fabric {
namespace {

// Access types for any alignment of the private side. Each volatile access is made exactly once and never
// becomes a call of memcpy, whose tail handling and string instructions may tear words. A vector access whose
// lanes are aligned words never tears within a lane on x86-64 and AArch64, because no lane crosses a cache
// line.
using Byte = volatile unsigned char;
typedef volatile std::uint16_t Quarter __attribute__((aligned(1), may_alias));
typedef volatile std::uint32_t Half __attribute__((aligned(1), may_alias));
typedef volatile std::uint64_t Word __attribute__((aligned(1), may_alias));
typedef volatile std::uint64_t Words2 __attribute__((vector_size(16), aligned(1), may_alias));

constexpr std::size_t cache_line_bytes = 64;

// Neither templates nor `auto` below: deduction loses the attributes of the access types.
//
// Copies less than a word, in the largest aligned pieces: an int that a program reads concurrently stays
// whole.
MUSUBI_RACES_BY_CONTRACT void copy_pieces(std::byte* to, const std::byte* from, std::size_t bytes,
                                          std::uintptr_t shared) noexcept {
  for (std::size_t piece = 0; bytes != 0; to += piece, from += piece, shared += piece, bytes -= piece) {
    if (shared % 4 == 0 && bytes >= 4) {
      *reinterpret_cast<Half*>(to) = *reinterpret_cast<const Half*>(from);
      piece = 4;
    } else if (shared % 2 == 0 && bytes >= 2) {
      *reinterpret_cast<Quarter*>(to) = *reinterpret_cast<const Quarter*>(from);
      piece = 2;
    } else {
      *reinterpret_cast<Byte*>(to) = *reinterpret_cast<const Byte*>(from);
      piece = 1;
    }
  }
}

MUSUBI_RACES_BY_CONTRACT void copy_single_words(std::byte* to, const std::byte* from,
                                                std::size_t words) noexcept {
  Word* target = reinterpret_cast<Word*>(to);
  const Word* origin = reinterpret_cast<const Word*>(from);
  for (std::size_t i = 0; i < words; ++i) target[i] = origin[i];
}

MUSUBI_RACES_BY_CONTRACT void copy_lines(std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  Words2* target = reinterpret_cast<Words2*>(to);
  const Words2* origin = reinterpret_cast<const Words2*>(from);
  for (; lines != 0; --lines, target += 4, origin += 4) {
    target[0] = origin[0];
    target[1] = origin[1];
    target[2] = origin[2];
    target[3] = origin[3];
  }
}

#if defined(__x86_64__)
typedef volatile std::uint64_t Words4 __attribute__((vector_size(32), aligned(1), may_alias));
typedef volatile std::uint64_t Words8 __attribute__((vector_size(64), aligned(1), may_alias));
constexpr std::size_t wide_bytes_min = 512;
constexpr std::size_t lines_ahead = 16;
constexpr std::size_t page_lines = 64;

// Source and destination lines of a peer's block are mostly outside this core's caches. Stores leave the core
// one by one and in order, so the destination is prefetched for writing, which the hardware prefetcher does
// not do. On processors without `prefetchw` the instruction has no effect.
inline __attribute__((always_inline, target("prfchw"))) void prefetch(std::byte* to, const std::byte* from,
                                                                      std::size_t line) noexcept {
  __builtin_prefetch(from + line * cache_line_bytes);
  __builtin_prefetch(to + line * cache_line_bytes, 1);
}

// Overlaps the page table walks; the hardware prefetcher stops at each page.
inline __attribute__((always_inline, target("prfchw"))) void prefetch_pages(std::byte* to,
                                                                            const std::byte* from,
                                                                            std::size_t lines) noexcept {
  for (std::size_t line = page_lines; line < lines; line += page_lines) prefetch(to, from, line);
}

// Not target_clones: its resolvers may run before a sanitizer or a preloaded library is ready.
__attribute__((target("avx2,prfchw"))) MUSUBI_RACES_BY_CONTRACT void copy_lines_wide(
    std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  Words4* target = reinterpret_cast<Words4*>(to);
  const Words4* origin = reinterpret_cast<const Words4*>(from);
  prefetch_pages(to, from, lines);
  for (std::size_t i = 0; i < lines; ++i, target += 2, origin += 2) {
    if (i + lines_ahead < lines) prefetch(to, from, i + lines_ahead);
    target[0] = origin[0];
    target[1] = origin[1];
  }
}

__attribute__((target("avx512f,prfchw"))) MUSUBI_RACES_BY_CONTRACT void copy_lines_widest(
    std::byte* to, const std::byte* from, std::size_t lines) noexcept {
  Words8* target = reinterpret_cast<Words8*>(to);
  const Words8* origin = reinterpret_cast<const Words8*>(from);
  prefetch_pages(to, from, lines);
  for (std::size_t i = 0; i < lines; ++i) {
    if (i + lines_ahead < lines) prefetch(to, from, i + lines_ahead);
    target[i] = origin[i];
  }
}
#endif

}  // namespace

void copy_words(void* destination, const void* source, std::size_t bytes, const void* shared) noexcept {
  auto* to = static_cast<std::byte*>(destination);
  auto* from = static_cast<const std::byte*>(source);
  const auto shared_begin = reinterpret_cast<std::uintptr_t>(shared);
  const std::size_t head = std::min(bytes, -shared_begin % 8);
  if (head != 0) copy_pieces(to, from, head, shared_begin);
  to += head, from += head, bytes -= head;

  const std::size_t lines = bytes / cache_line_bytes;
#if defined(__x86_64__)
  if (bytes >= wide_bytes_min && __builtin_cpu_supports("avx512f")) {
    copy_lines_widest(to, from, lines);
  } else if (bytes >= wide_bytes_min && __builtin_cpu_supports("avx2")) {
    copy_lines_wide(to, from, lines);
  } else {
    copy_lines(to, from, lines);
  }
#else
  copy_lines(to, from, lines);
#endif
  to += lines * cache_line_bytes, from += lines * cache_line_bytes, bytes -= lines * cache_line_bytes;

  copy_single_words(to, from, bytes / 8);
  const std::size_t words = bytes / 8 * 8;  // the rest begins at a word of the shared side
  if (bytes != words) copy_pieces(to + words, from + words, bytes - words, 0);
}

}  // namespace musubi::fabric
