#include "remote_lock/joining.h"

#include <atomic>

#include "hooks/hooks.h"
#include "remote_lock/owner_word.h"

namespace musubi::remote_lock {

fabric::Verdict join_at_initial_home(fabric::Call& call, const void* data) noexcept {
  const Hooks& hooks = *static_cast<const Hooks*>(data);
  JoinRequest request;
  if (!call.read(request)) return fabric::malformed;
  const fabric::RegionId region{request.region};
  auto* const owner = call.object_at<std::uint64_t>(region, request.owner);
  auto* const tail = call.object_at<std::uint64_t>(region, request.tail);
  if (owner == nullptr || tail == nullptr) return fabric::malformed;
  const TailWord before{std::atomic_ref(*tail).exchange(TailWord::of(call.caller()).raw)};
  if (!call.add(before)) return fabric::malformed;
  hooks.others_may_act();
  if (before.rank(call.target()) != call.target()) return joining::behind_other;
  const std::uint64_t link = OwnerWord::link_to(call.caller()).raw;
  const auto swap = [&](OwnerWord expected) {
    const bool swapped = std::atomic_ref(*owner).compare_exchange_strong(expected.raw, link);
    hooks.others_may_act();
    return swapped;
  };
  // The same order as in QueueLock::follow().
  if (swap(OwnerWord::locked())) return joining::waits;
  if (swap(OwnerWord::kept())) return joining::kept;
  if (swap(OwnerWord::untouched()) || swap(OwnerWord::unlocked())) return joining::taken;
  return joining::tried;
}

}  // namespace musubi::remote_lock
