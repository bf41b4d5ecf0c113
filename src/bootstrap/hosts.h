// Which ranks of a job share a host: its processors, its memory, and files that they can map together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"

namespace musubi::bootstrap {

using HostId = StrongId<struct HostTag, std::uint32_t>;

// Immutable; any thread.
class Hosts {
 public:
  static Hosts one(std::uint32_t ranks);
  // Ranks with equal places share a host. A place is an opaque text from the driver that identifies one host.
  // `places` are by rank, the same at all ranks.
  static Hosts by_place(std::span<const std::string> places);

  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(host_of_.size()); }
  // Hosts are numbered in the order of their lowest ranks.
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(ranks_on_.size()); }
  HostId of(Rank rank) const { return host_of_.at(rank.value); }
  // In ascending order; at least one.
  std::span<const Rank> ranks_on(HostId host) const { return ranks_on_.at(host.value); }
  // The number of ranks on the fullest host.
  std::uint32_t most_together() const;
  bool together(Rank a, Rank b) const { return of(a) == of(b); }

 private:
  std::vector<HostId> host_of_;
  std::vector<std::vector<Rank>> ranks_on_;
};

// How many cores of each host the job may use, by host. `core_sets` by rank: the cores on which the rank may
// run, as a string of '0' and '1' (os::allowed_core_set). Ranks of a host may be pinned to different cores,
// so their sets are united. Hosts share no cores.
std::vector<std::uint32_t> cores_of_hosts(const Hosts& hosts, std::span<const std::string> core_sets);

}  // namespace musubi::bootstrap
