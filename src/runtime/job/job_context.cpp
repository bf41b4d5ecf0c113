#include "runtime/job/job_context.h"

#include <algorithm>
#include <string>
#include <utility>

#include "coherence/core/signature.h"
#include "os/cpu.h"
#include "runtime/api/coordination.h"
#include "runtime/api/synchronization.h"
#include "runtime/job/job_words.h"

namespace musubi::runtime {
namespace {

sync::ControlLayout control_layout(std::uint32_t ranks, std::size_t notices_max) {
  sync::ControlSizes sizes;
  sizes.ranks = ranks;
  sizes.notices_max = notices_max;
  sizes.signature_bytes = coherence::signature_bytes(notices_max);
  sizes.lock_count = Synchronization::lock_count_of_all;
  sizes.wait_records = Coordination::rw_lock_count + Coordination::condition_count;
  sizes.waiters = Coordination::waiters_max;
  sizes.team_words = JobWords::word_count;
  return sync::ControlLayout::of(sizes);
}

// Estimated from the settings, before any measurement, so that all ranks get the same value.
std::uint64_t usual_round_trip_ns(const config::Settings& settings) {
  constexpr std::uint64_t fast_network = 2'000, kernel_network = 20'000;
  if (makes_peers_far(settings)) {
    return std::max(fast_network, static_cast<std::uint64_t>(settings.fabric_delay.count()));
  }
  const std::string& provider = settings.ofi_provider;
  const bool is_by_kernel =
      settings.far_fabric == "tcp" || provider.starts_with("tcp") || provider.starts_with("udp");
  return is_by_kernel ? kernel_network : fast_network;
}

std::size_t notices_max_of(const bootstrap::Hosts& hosts, const config::Settings& settings) {
  const std::uint64_t round_trip_ns =
      ranks_map_each_other(settings, hosts) ? 0 : usual_round_trip_ns(settings);
  return settings.signature_notices_max.value_or(
      coherence::signature_notices_for(hosts.ranks(), round_trip_ns));
}

coherence::entry::Sizes entry_sizes_of(const AddressPlan& plan, std::uint32_t ranks, bool no_protocol,
                                       const config::Settings& settings) {
  if (no_protocol || plan.added_bytes == 0) return {};
  return {ranks, plan.space.blocks_max(), Synchronization::lock_count, settings.entry_list_bytes};
}

}  // namespace

bool makes_peers_far(const config::Settings& settings) {
  return settings.fabric_delay.count() != 0 || settings.fabric_bandwidth != 0;
}

bool ranks_map_each_other(const config::Settings& settings, const bootstrap::Hosts& hosts) {
  return hosts.count() == 1 && settings.near_fabric == "shm" && !makes_peers_far(settings);
}

JobContext::JobContext(const config::Settings& settings_of_rank, std::unique_ptr<bootstrap::Bootstrap> place,
                       AddressPlan addresses, bool maps_one_memory)
    : settings(settings_of_rank),
      bootstrap(std::move(place)),
      self(bootstrap->self()),
      ranks(bootstrap->ranks()),
      one_memory(maps_one_memory),
      notices_max(notices_max_of(bootstrap->hosts(), settings)),
      plan(std::move(addresses)),
      control(control_layout(ranks, notices_max)),
      entry_sizes(entry_sizes_of(plan, ranks, one_memory, settings)) {}

Result<void> JobContext::find_host() {
  auto found = find_host_share(*bootstrap, os::allowed_core_set());
  if (!found) return found.error();
  host = found.value();
  return {};
}

void JobContext::abort(int status, std::string_view reason) const {
  bootstrap->abort(status, reason);
  __builtin_unreachable();
}

}  // namespace musubi::runtime
