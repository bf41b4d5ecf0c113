// Divides the slots of a job into processes and threads. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/launch_plan.h"

namespace musubi::launch {

struct HostSlots {
  std::string name;  // for the rsh command; may begin with a user, as in `ada@h1`
  std::uint32_t slots = 1;
};

// The processes of a host, which are ranks with consecutive numbers.
struct HostRanks {
  std::string name;
  RankRange ranks;
  std::vector<std::uint32_t> threads;  // by process
};

struct ProcessRule {
  std::optional<std::uint32_t> per_host;  // processes that share its slots' threads; unset: one per slot
  std::uint32_t threads_per_slot = 1;
};

// Fills the slots host by host, and divides them into processes; leaves out hosts without any. Without
// `slots`: uses all slots of the hosts. A host with fewer threads than `per_host` gets a process for each
// thread. Errors: more slots than the hosts have, or more processes than a job may have.
Result<std::vector<HostRanks>> place_on_hosts(const std::vector<HostSlots>& hosts,
                                              std::optional<std::uint32_t> slots, const ProcessRule& rule);

std::uint32_t ranks_of(const std::vector<HostRanks>& hosts);
// By rank of the job.
std::vector<std::uint32_t> threads_of(const std::vector<HostRanks>& hosts);

}  // namespace musubi::launch
