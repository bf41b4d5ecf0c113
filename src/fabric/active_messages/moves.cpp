#include "fabric/active_messages/moves.h"

#include <algorithm>

#include "fabric/active_messages/answers.h"
#include "os/clock.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t moves_max = 256;

}  // namespace

Moves::Moves(Transport& transport, trace::Counters& counters)
    : transport_(transport),
      counters_(counters),
      bytes_min_(transport.move_bytes_min()),
      under_way_(moves_max, 0) {}

bool Moves::begin(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  const Step& step = steps.front();
  const bool can_move = step.verb == Verb::get || step.verb == Verb::put;
  if (steps.size() != 1 || !can_move || step.bytes < bytes_min_ || step.after != no_verdict) return false;
  Entry* const entry = under_way_.take();
  if (entry == nullptr) return false;
  entry->steps = &step;
  entry->completion = &completion;
  entry->sent_ns = os::monotonic_ns();
  if (transport_.begin_move(peer, step, entry)) return true;
  under_way_.give_back(entry);
  return false;
}

void Moves::end(void* token) noexcept {
  auto* const entry = static_cast<Entry*>(token);
  const std::size_t bytes = entry->steps->bytes;
  if (entry->steps->verb == Verb::get) count_bytes(counters_, bytes);  // post() has counted puts
  counters_.add(trace::Counter::rma_operations);
  counters_.add(trace::Counter::rma_bytes, bytes);
  const std::uint64_t now_ns = os::monotonic_ns();
  counters_.add(trace::Counter::far_trip_ns, now_ns - std::min(now_ns, entry->sent_ns));
  Event* const completion = entry->completion;
  under_way_.give_back(entry);
  completion->set();
}

}  // namespace musubi::fabric
