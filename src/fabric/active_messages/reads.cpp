#include "fabric/active_messages/reads.h"

#include <algorithm>

#include "fabric/active_messages/answers.h"
#include "os/clock.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t reads_max = 256;

}  // namespace

Reads::Reads(Transport& transport, trace::Counters& counters)
    : transport_(transport),
      counters_(counters),
      bytes_min_(transport.read_bytes_min()),
      under_way_(reads_max, 0) {}

bool Reads::begin(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  const Step& step = steps.front();
  if (steps.size() != 1 || step.verb != Verb::get || step.bytes < bytes_min_) return false;
  if (step.after != no_verdict) return false;
  Entry* const entry = under_way_.take();
  if (entry == nullptr) return false;
  entry->steps = &step;
  entry->completion = &completion;
  entry->sent_ns = os::monotonic_ns();
  const std::span local(static_cast<std::byte*>(step.local), step.bytes);
  if (transport_.begin_read(peer, step.region, step.offset, local, entry)) return true;
  under_way_.give_back(entry);
  return false;
}

void Reads::end(void* token) noexcept {
  auto* const entry = static_cast<Entry*>(token);
  const std::size_t bytes = entry->steps->bytes;
  count_bytes(counters_, bytes);
  counters_.add(trace::Counter::rma_gets);
  counters_.add(trace::Counter::rma_bytes, bytes);
  const std::uint64_t now_ns = os::monotonic_ns();
  counters_.add(trace::Counter::far_trip_ns, now_ns - std::min(now_ns, entry->sent_ns));
  Event* const completion = entry->completion;
  under_way_.give_back(entry);
  completion->set();
}

}  // namespace musubi::fabric
