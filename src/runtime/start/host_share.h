// What the ranks of one host share: this decides how a rank waits, how it protects its pages, and when memory
// runs out. Ranks of other hosts take nothing of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "fabric/waiting_policy.h"

namespace musubi::runtime {

struct HostShare {
  std::uint32_t ranks = 1;  // of the job, on this rank's host
  std::uint32_t cores = 1;  // that these may use together
};

// Collective, an exchange. `core_set`: the cores of the calling rank (os::allowed_core_set).
Result<HostShare> find_host_share(bootstrap::Bootstrap& bootstrap, const std::string& core_set);

// How threads wait where each rank has so many, but for what the settings say.
fabric::WaitingPolicy waiting_policy_on(const HostShare& host, const config::Settings& settings,
                                        std::uint32_t threads_per_rank);

}  // namespace musubi::runtime
