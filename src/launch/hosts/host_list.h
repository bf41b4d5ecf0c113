// The hosts of a job, as users name them, and which ranks each of them gets. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/launch_plan.h"

namespace musubi::launch {

struct HostSlots {
  std::string name;  // for the rsh command: may have a user before it, `ada@h1`
  std::uint32_t slots = 1;
};

// `h1:2,h2,[fe80::1]:4`. A host that is named again gets more slots. Errors: no host, an empty or odd name, a
// number that is none.
Result<std::vector<HostSlots>> parse_hosts(std::string_view text);
// The contents of a host file: a host per line, as `h1`, `h1:2` (MPICH) or `h1 slots=2` (Open MPI); # begins
// a comment. Errors: as above, with the number of the line.
Result<std::vector<HostSlots>> parse_host_file(std::string_view contents);

struct HostRanks {
  std::string name;
  RankRange ranks;
};

// Fills the slots host by host; hosts that get no rank are left out. Without `ranks`: as many as slots.
// Errors: more ranks than slots, or than a job may have.
Result<std::vector<HostRanks>> place_on_hosts(const std::vector<HostSlots>& hosts,
                                              std::optional<std::uint32_t> ranks);

}  // namespace musubi::launch
