#include "coherence/migrating/for_others/overwriters.h"

#include <atomic>
#include <cstring>

#include "coherence/regions.h"

namespace musubi::coherence::migrating {

// Threads here may store while the bytes are copied: a store is in the twin, or differs from it. The program
// orders the first before the overwriting, whose bytes take their place.
fabric::Verdict make_twin_for_overwriter(fabric::Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  OverwriteRequest request;
  if (!call.read(request) || request.block >= side.store->space().blocks()) return fabric::malformed;
  const BlockId block{request.block};
  const vm::Extent extent = side.store->space().extent(block);
  auto* const words = call.object_at<BlockWords>(words_region, word_offset(block, 0));
  const std::byte* const live = call.at(private_region, extent.offset, extent.bytes);
  std::byte* const copy = call.at(published_region, extent.offset, extent.bytes);
  if (words == nullptr || live == nullptr || copy == nullptr) return fabric::malformed;
  if (!side.hooks.injected(InjectedBug::overwritten_without_twin)) {
    const auto copy_stretch = [&](std::size_t at, std::size_t bytes) {
      std::memcpy(copy + at, live + at, bytes);
    };
    side.hooks.for_each_stretch(0, extent.bytes, copy_stretch);
  }
  side.hooks.others_may_act();
  std::atomic_ref(words->public_ts).store(request.write_ts);
  side.hooks.others_may_act();
  std::atomic_ref(words->stillness).fetch_or(BlockWords::overwritten);
  return call.add(std::uint64_t{0}) ? twin_is_made : fabric::malformed;
}

}  // namespace musubi::coherence::migrating
