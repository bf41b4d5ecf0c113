// State shared by a rank's parts, from before it has memory until the job ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "bootstrap/bootstrap.h"
#include "coherence/entry/layout.h"
#include "config/settings.h"
#include "runtime/start/address_plan.h"
#include "runtime/start/host_share.h"
#include "sync/control_layout.h"
#include "trace/counters.h"

namespace musubi::runtime {

// Whether peers on the same host are treated as remote (fabric_delay, fabric_bandwidth).
bool makes_peers_far(const config::Settings& settings);
// Whether each rank maps the memory of all other ranks. Not over several hosts, with a network on one host,
// or if peers are treated as remote.
bool ranks_map_each_other(const config::Settings& settings, const bootstrap::Hosts& hosts);

struct JobContext {
  JobContext(const config::Settings& settings_of_rank, std::unique_ptr<bootstrap::Bootstrap> place,
             AddressPlan addresses, bool maps_one_memory);

  // Finds `host`. Collective. Errors: those of the exchange.
  Result<void> find_host();

  // Ends the job at once as a failure. Any thread, also inside a fault.
  [[noreturn]] void abort(int status, std::string_view reason) const;

  const config::Settings settings;
  const std::unique_ptr<bootstrap::Bootstrap> bootstrap;
  const Rank self;
  const std::uint32_t ranks;
  // All ranks map one memory, which the processors keep coherent, or there is one rank: no protocol is used.
  const bool one_memory;
  const std::size_t notices_max;  // of a signature
  AddressPlan plan;               // gets further segments, never loses one (job_segments.h)
  const sync::ControlLayout control;
  const coherence::entry::Sizes entry_sizes;  // no blocks: no segment can have the policy `entry`
  trace::Counters counters;
  HostShare host;
};

}  // namespace musubi::runtime
