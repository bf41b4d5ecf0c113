#include "fabric/shm/steps.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "os/cpu.h"

namespace musubi::fabric {
namespace {

// Access types for any alignment of the private side. Volatile accesses are made exactly once each and never
// become a call of memcpy, whose tail handling and string instructions promise nothing about words. A vector
// access whose lanes are aligned words never tears within a lane on x86-64 and AArch64.
using Byte = volatile unsigned char;
typedef std::uint64_t UnalignedWord __attribute__((aligned(1), may_alias));
typedef std::uint64_t UnalignedPair __attribute__((vector_size(16), aligned(1), may_alias));

// Readers and writers of a region race word by word: the port allows it.
#define MUSUBI_RACES_BY_CONTRACT __attribute__((no_sanitize("thread")))

MUSUBI_RACES_BY_CONTRACT void copy_bytes(std::byte*& destination, const std::byte*& source,
                                         std::size_t bytes) noexcept {
  for (; bytes != 0; --bytes, ++destination, ++source) {
    *reinterpret_cast<Byte*>(destination) = *reinterpret_cast<const Byte*>(source);
  }
}

// (Two functions and not a template: template arguments lose the attributes of the access types.)
MUSUBI_RACES_BY_CONTRACT void copy_word(std::byte* destination, const std::byte* source) noexcept {
  *reinterpret_cast<volatile UnalignedWord*>(destination) =
      *reinterpret_cast<const volatile UnalignedWord*>(source);
}

MUSUBI_RACES_BY_CONTRACT void copy_pair(std::byte* destination, const std::byte* source) noexcept {
  *reinterpret_cast<volatile UnalignedPair*>(destination) =
      *reinterpret_cast<const volatile UnalignedPair*>(source);
}

std::byte* resolve(RegionViews regions, const Step& step) noexcept {
  MUSUBI_CHECK(step.region.value < region_count_max && regions[step.region.value].base != nullptr,
               "no region %u", unsigned{step.region.value});
  const RegionView& region = regions[step.region.value];
  MUSUBI_CHECK(step.bytes <= region.bytes && step.offset <= region.bytes - step.bytes,
               "[%llu, +%zu) lies outside region %u of %zu bytes",
               static_cast<unsigned long long>(step.offset), step.bytes, unsigned{step.region.value},
               region.bytes);
  return region.base + step.offset;
}

std::atomic_ref<std::uint64_t> word_at(std::byte* address) noexcept {
  MUSUBI_CHECK(reinterpret_cast<std::uintptr_t>(address) % 8 == 0, "an atomic on a word that is not aligned");
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address));
}

void perform_atomic(const Step& step, std::byte* remote) noexcept {
  MUSUBI_CHECK(step.bytes == 8, "an atomic on %zu bytes", step.bytes);
  const auto word = word_at(remote);
  std::uint64_t old = step.compare;
  if (step.verb == Verb::compare_swap) {
    word.compare_exchange_strong(old, step.operand);
  } else if (step.verb == Verb::fetch_add) {
    old = word.fetch_add(step.operand);
  } else {
    old = word.exchange(step.operand);
  }
  *static_cast<UnalignedWord*>(step.local) = old;
}

}  // namespace

MUSUBI_RACES_BY_CONTRACT void copy_words(void* destination, const void* source, std::size_t bytes,
                                         const void* shared) noexcept {
  auto* to = static_cast<std::byte*>(destination);
  auto* from = static_cast<const std::byte*>(source);
  const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(shared) % 8);
  copy_bytes(to, from, head);
  bytes -= head;
  for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
    copy_pair(to, from);
    copy_pair(to + 16, from + 16);
    copy_pair(to + 32, from + 32);
    copy_pair(to + 48, from + 48);
  }
  for (; bytes >= 8; bytes -= 8, to += 8, from += 8) copy_word(to, from);
  copy_bytes(to, from, bytes);
}

std::uint64_t perform(RegionViews regions, std::span<const Step> steps) noexcept {
  std::uint64_t moved = 0;
  // A get must not pass an earlier store, in this batch or in one that was awaited: only a full fence orders
  // the two.
  bool stores_in_flight = false;
  for (const Step& step : steps) {
    std::byte* remote = resolve(regions, step);
    moved += step.bytes;
    switch (step.verb) {
      case Verb::get:
        if (stores_in_flight) std::atomic_thread_fence(std::memory_order_seq_cst);
        stores_in_flight = false;
        copy_words(step.local, remote, step.bytes, remote);
        std::atomic_thread_fence(std::memory_order_acquire);
        break;
      case Verb::put:
        std::atomic_thread_fence(std::memory_order_release);
        copy_words(remote, step.local, step.bytes, remote);
        stores_in_flight = true;
        break;
      default:
        perform_atomic(step, remote);
        stores_in_flight = !os::atomics_are_full_fences;
        break;
    }
  }
  if (stores_in_flight) std::atomic_thread_fence(std::memory_order_seq_cst);
  return moved;
}

}  // namespace musubi::fabric
