// Which ranks of a job share a host: its processors, its memory, and files that they can map together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"

namespace musubi::bootstrap {

using HostId = StrongId<struct HostTag, std::uint32_t>;

// Constant once made; any thread may ask.
class Hosts {
 public:
  static Hosts one(std::uint32_t ranks);
  // Ranks with the same place share a host. The driver finds a place: any text that is equal on one host and
  // nowhere else. Nobody takes it apart. `places` are by rank, and all ranks must pass the same.
  static Hosts by_place(std::span<const std::string> places);

  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(host_of_.size()); }
  // Hosts are numbered in the order of their first ranks.
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(ranks_on_.size()); }
  HostId of(Rank rank) const { return host_of_.at(rank.value); }
  // In ascending order; at least one.
  std::span<const Rank> ranks_on(HostId host) const { return ranks_on_.at(host.value); }
  // How many ranks the fullest host has.
  std::uint32_t most_together() const;
  bool together(Rank a, Rank b) const { return of(a) == of(b); }

 private:
  std::vector<HostId> host_of_;
  std::vector<std::vector<Rank>> ranks_on_;
};

// How many cores of each host the job may use, by host. `core_sets` are by rank: the cores on which the rank
// may run, as a string of '0' and '1' (os::allowed_core_set). Ranks of one host may be pinned to different
// cores, so a host has the union. Cores of two hosts are never the same ones.
std::vector<std::uint32_t> cores_of_hosts(const Hosts& hosts, std::span<const std::string> core_sets);

}  // namespace musubi::bootstrap
