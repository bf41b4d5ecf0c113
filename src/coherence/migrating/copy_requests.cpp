#include "coherence/migrating/copy_requests.h"

#include <atomic>
#include <optional>

#include "coherence/migrating/home_looks.h"
#include "coherence/regions.h"

namespace musubi::coherence::migrating {

// The version first: a copy that goes while the bytes are read shows in it behind them. Then the timestamp:
// bytes of a newer version may come along, but never older ones than it says.
fabric::Verdict give_copy(fabric::Call& call, const void* data) noexcept {
  const HomeSide& side = *static_cast<const HomeSide*>(data);
  CopyRequest request;
  if (!call.read(request) || request.block >= side.store->space().blocks()) return fabric::malformed;
  const BlockId block{request.block};
  auto* const words = call.object_at<BlockWords>(words_region, word_offset(block, 0));
  auto* const record = call.object_at<RelayRecord>(words_region, side.layout.relays().record(block));
  if (words == nullptr || record == nullptr) return fabric::malformed;
  if (request.insists == 0) {
    const std::optional<Rank> relay = RelayBoard(*record).place(
        block, LogicalTime{request.wanted}, call.caller(), side.places_for(block), request.links);
    if (relay) return call.add(CopyResult{0, 0, relay->value}) ? copies::relayed : fabric::malformed;
  }
  side.hooks.others_may_act();
  CopyResult result{};
  result.version = std::atomic_ref(words->version).load();
  const std::uint64_t public_ts = std::atomic_ref(words->public_ts).load();
  result.atomic_words = std::atomic_ref(words->atomic_words).load();
  const bool is_any = public_ts != 0 && side.hooks.injected(InjectedBug::relay_gives_what_it_has);
  if (public_ts < request.wanted && !is_any) {
    const bool is_coming = RelayBoard(*record).is_coming(block, LogicalTime{request.wanted});
    return is_coming ? copies::coming : copies::not_here;
  }
  if (!call.add(result)) return fabric::malformed;
  const bool in_lines = give_lines(call, side, block, request.lines, LogicalTime{public_ts}, result.version);
  return in_lines ? copies::in_lines : copies::here;
}

}  // namespace musubi::coherence::migrating
