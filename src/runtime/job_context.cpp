#include "runtime/job_context.h"

#include <algorithm>
#include <string>
#include <vector>

#include "coherence/core/signature.h"
#include "os/cpu.h"
#include "runtime/job_words.h"
#include "runtime/synchronization.h"

namespace musubi::runtime {
namespace {

sync::ControlLayout control_layout(std::uint32_t ranks, std::size_t notices_max) {
  sync::ControlSizes sizes;
  sizes.ranks = ranks;
  sizes.notices_max = notices_max;
  sizes.signature_bytes = coherence::signature_bytes(notices_max);
  sizes.lock_count = Synchronization::lock_count;
  sizes.team_words = JobWords::word_count;
  return sync::ControlLayout::of(sizes);
}

}  // namespace

JobContext::JobContext(const config::Settings& settings_of_rank, std::unique_ptr<bootstrap::Bootstrap> place,
                       AddressPlan addresses)
    : settings(settings_of_rank),
      bootstrap(std::move(place)),
      self(bootstrap->self()),
      ranks(bootstrap->ranks()),
      notices_max(settings.signature_notices_max.value_or(coherence::signature_notices_for(ranks))),
      plan(std::move(addresses)),
      control(control_layout(ranks, notices_max)) {}

// Each rank may be pinned to cores of its own: what the job has is the union.
Result<void> JobContext::count_cores() {
  auto sets = bootstrap->all_gather(os::allowed_core_set());
  if (!sets) return sets.error();
  std::string all;
  for (const std::string& set : sets.value()) {
    if (all.size() < set.size()) all.resize(set.size(), '0');
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (set[i] == '1') all[i] = '1';
    }
  }
  cores = static_cast<std::uint32_t>(std::count(all.begin(), all.end(), '1'));
  return {};
}

void JobContext::abort(int status, std::string_view reason) const {
  bootstrap->abort(status, reason);
  __builtin_unreachable();
}

}  // namespace musubi::runtime
