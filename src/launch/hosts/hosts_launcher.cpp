#include "launch/hosts/hosts_launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

#include "launch/hosts/hosts_supervisor.h"
#include "launch/job_secret.h"
#include "launch/local/start_ranks.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

Result<std::vector<HostLink>> call_hosts(const HostsPlan& plan, const InheritedState& inherited) {
  std::vector<HostLink> hosts;
  hosts.reserve(plan.hosts.size());
  for (const HostRanks& one : plan.hosts) {
    HostLink host;
    host.name = one.name;
    host.ranks = one.ranks;
    host.called_ns = os::monotonic_ns();
    const bool by_rsh = plan.rsh_for_all || !is_this_host(one.name);
    auto started = start_rsh(by_rsh ? plan.rsh : "", one.name, plan.musubi_path, inherited);
    if (!started) {
      for (HostLink& other : hosts) hang_up(other);
      return started.error();
    }
    host.rsh = std::move(started).value();
    host.channel = Channel(std::move(host.rsh.from_proxy), std::move(host.rsh.to_proxy), true,
                           static_cast<std::uint64_t>(plan.order.start_timeout.count()));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// The proxies end when their channel does; what calls them follows. A moment later nobody waits any more.
void end_calls(std::vector<HostLink>& hosts) {
  constexpr std::uint64_t patience_ns = 2'000'000'000;
  const std::uint64_t deadline_ns = os::monotonic_ns() + patience_ns;
  for (HostLink& host : hosts) host.channel.close();
  for (HostLink& host : hosts) {
    while (os::monotonic_ns() < deadline_ns) {
      pollfd file{host.rsh.process.number(), POLLIN, 0};
      constexpr int look_again_ms = 100;
      if (::poll(&file, 1, look_again_ms) > 0) break;
    }
    signal_rsh(host.rsh, SIGKILL);
    ::waitpid(host.rsh.process_id, nullptr, 0);
  }
}

}  // namespace

bool is_this_host(const std::string& name) {
  if (name == "localhost") return true;
  char own[HOST_NAME_MAX + 1] = {};
  return ::gethostname(own, sizeof own - 1) == 0 && name == own;
}

Result<std::vector<HostExamination>> HostsLauncher::examine(HostsPlan plan) {
  plan.order.examine = true;
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  auto hosts = call_hosts(plan, inherited);
  if (!hosts) return hosts.error();
  HostsSupervisor(plan, signals, hosts.value()).run();
  end_calls(hosts.value());
  std::vector<HostExamination> examinations;
  for (HostLink& host : hosts.value()) {
    const std::uint64_t answer_ns = host.answered_ns == 0 ? 0 : host.answered_ns - host.called_ns;
    examinations.push_back({{host.name, host.ranks}, host.refusal, answer_ns, std::move(host.facts)});
  }
  return examinations;
}

Result<int> HostsLauncher::run(HostsPlan plan) {
  auto secret = make_secret();
  if (!secret) return secret.error();
  plan.order.welcome.secret = std::move(secret).value();
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  auto hosts = call_hosts(plan, inherited);
  if (!hosts) return hosts.error();
  const int status = HostsSupervisor(plan, signals, hosts.value()).run();
  end_calls(hosts.value());
  return status;
}

}  // namespace musubi::launch
