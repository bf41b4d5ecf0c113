#include "bootstrap/hosts.h"

#include <algorithm>

#include "base/check.h"

namespace musubi::bootstrap {

Hosts Hosts::one(std::uint32_t ranks) {
  return by_place(std::vector<std::string>(ranks));
}

Hosts Hosts::by_place(std::span<const std::string> places) {
  Hosts hosts;
  std::vector<std::string_view> known;
  for (const std::string& place : places) {
    const auto found = std::ranges::find(known, place);
    const HostId host(static_cast<std::uint32_t>(found - known.begin()));
    if (found == known.end()) {
      known.push_back(place);
      hosts.ranks_on_.emplace_back();
    }
    hosts.ranks_on_[host.value].push_back(Rank(static_cast<std::uint32_t>(hosts.host_of_.size())));
    hosts.host_of_.push_back(host);
  }
  return hosts;
}

std::uint32_t Hosts::most_together() const {
  std::size_t most = 0;
  for (const auto& ranks : ranks_on_) most = std::max(most, ranks.size());
  return static_cast<std::uint32_t>(most);
}

std::vector<std::uint32_t> cores_of_hosts(const Hosts& hosts, std::span<const std::string> core_sets) {
  std::vector<std::uint32_t> cores;
  for (std::uint32_t host = 0; host < hosts.count(); ++host) {
    std::string all;
    for (const Rank rank : hosts.ranks_on(HostId(host))) {
      MUSUBI_CHECK(rank.value < core_sets.size(), "a set of cores from every rank");
      const std::string& set = core_sets[rank.value];
      all.resize(std::max(all.size(), set.size()), '0');
      for (std::size_t i = 0; i < set.size(); ++i) {
        if (set[i] == '1') all[i] = '1';
      }
    }
    cores.push_back(static_cast<std::uint32_t>(std::ranges::count(all, '1')));
  }
  return cores;
}

}  // namespace musubi::bootstrap
