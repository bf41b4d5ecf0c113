// The ranks and cores of one host: these decide how a rank waits, how it protects its pages, and when memory
// runs out.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "fabric/waiting.h"

namespace musubi::runtime {

struct HostShare {
  std::uint32_t ranks = 1;  // of the job, on this rank's host
  std::uint32_t cores = 1;  // that these ranks may use together
};

// Collective: one exchange. `core_set`: the cores of the calling rank (os::allowed_core_set).
Result<HostShare> find_host_share(bootstrap::Bootstrap& bootstrap, const std::string& core_set);

// How threads wait if each rank has `threads_per_rank`, unless settings say otherwise.
fabric::WaitingPolicy waiting_policy_on(const HostShare& host, const config::Settings& settings,
                                        std::uint32_t threads_per_rank);

}  // namespace musubi::runtime
