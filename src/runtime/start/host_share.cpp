#include "runtime/start/host_share.h"

namespace musubi::runtime {

Result<HostShare> find_host_share(bootstrap::Bootstrap& bootstrap, const std::string& core_set) {
  auto core_sets = bootstrap.all_gather(core_set);
  if (!core_sets) return core_sets.error();
  const bootstrap::Hosts& hosts = bootstrap.hosts();
  const bootstrap::HostId mine = hosts.of(bootstrap.self());
  return HostShare{static_cast<std::uint32_t>(hosts.ranks_on(mine).size()),
                   bootstrap::cores_of_hosts(hosts, core_sets.value())[mine.value]};
}

fabric::WaitingPolicy waiting_policy_on(const HostShare& host, const config::Settings& settings,
                                        std::uint32_t threads_per_rank) {
  fabric::WaitingPolicy policy = fabric::waiting_policy(host.ranks * threads_per_rank, host.cores);
  if (settings.spin_checks) policy.spin_checks = static_cast<std::uint32_t>(*settings.spin_checks);
  if (settings.yields) policy.yields = static_cast<std::uint32_t>(*settings.yields);
  return policy;
}

}  // namespace musubi::runtime
