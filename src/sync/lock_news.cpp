#include "sync/lock_news.h"

#include <cstring>

#include "base/check.h"
#include "coherence/regions.h"

namespace musubi::sync {

using coherence::control_region;

std::optional<fabric::Step> NewsPiggyback::step_before(Rank holder) noexcept {
  stamp_ = look_.acquired_stamp(holder);
  return fabric::put(control_region, place_, &stamp_, sizeof stamp_);
}

Task<> NewsPiggyback::ask(Rank keeper) {
  MUSUBI_CHECK(requests_ != nullptr, "rank %u keeps a lock, and no request can reach it", keeper.value);
  return requests_->request_release(keeper);
}

NewsPayload::NewsPayload(std::span<std::byte> control, const SignaturePlace& place, const ToldStamps& told,
                         Rank self, std::uint32_t ranks)
    : place_(place), told_(told), self_(self), ranks_(ranks) {
  regions_[control_region.value] = {control.data(), control.size()};
}

std::size_t NewsPayload::give(Rank next, std::span<std::byte> room) noexcept {
  MUSUBI_CHECK(next.value < ranks_ && room.size() >= sizeof(fabric::CallEnd));
  // A word that another rank wrote says nothing about `next`.
  const bool of_another = place_.hooks.injected(InjectedBug::news_for_another);
  const Rank teller = of_another ? Rank{(next.value + 1) % ranks_} : next;
  const std::byte* const word = regions_[control_region.value].base + told_.at(teller);
  const SinceRequest request{__atomic_load_n(reinterpret_cast<const std::uint64_t*>(word), __ATOMIC_ACQUIRE)};
  fabric::CallEnd end{};
  fabric::Call call(next, self_, regions_, std::as_bytes(std::span(&request, 1)), room.subspan(sizeof end));
  end.verdict = signature_since(call, &place_);
  const bool in_part = end.verdict == since::too_many && place_.hooks.injected(InjectedBug::news_in_part);
  if (in_part) end.verdict = since::complete;
  if (end.verdict != since::complete) return 0;
  end.bytes = static_cast<std::uint32_t>(call.result_bytes());
  std::memcpy(room.data(), &end, sizeof end);
  return sizeof end + end.bytes;
}

}  // namespace musubi::sync
