#include "fabric/shm/steps.h"

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "fabric/shm/copy_words.h"
#include "os/cpu.h"

namespace musubi::fabric {
namespace {

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
  std::memcpy(step.local, &old, sizeof old);
}

}  // namespace

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
