#include "launch/hosts/launcher/hosts_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/hosts/launcher/hosts_supervisor.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_process.h"
#include "os/clock.h"
#include "os/host_name.h"

namespace musubi::launch {
namespace {

HostLink link_to(const HostRanks& host, std::size_t place, os::FileDescriptor in, os::FileDescriptor out,
                 std::chrono::nanoseconds patience, ChannelSeal seal = {}) {
  HostLink link;
  link.name = host.name;
  link.ranks = host.ranks;
  link.threads = host.threads;
  link.place = static_cast<std::uint16_t>(place);
  link.channel = Channel(std::move(in), std::move(out), true, static_cast<std::uint64_t>(patience.count()),
                         std::move(seal));
  return link;
}

// Starts a proxy by `rsh`; on this host if it is empty.
Result<HostLink> call_host(const HostsPlan& plan, std::size_t index, const std::string& rsh,
                           const InheritedState& inherited) {
  const std::uint64_t called_ns = os::monotonic_ns();
  MUSUBI_ASSIGN_OR_RETURN(RshProcess process,
                          start_rsh(rsh, plan.hosts[index].name, plan.musubi_path, inherited));
  HostLink link = link_to(plan.hosts[index], index, std::move(process.from_proxy),
                          std::move(process.to_proxy), plan.order.start_timeout);
  link.rsh = std::move(process);
  link.called_ns = called_ns;
  return link;
}

Result<std::vector<HostLink>> call_hosts(const HostsPlan& plan, const InheritedState& inherited) {
  std::vector<HostLink> hosts;
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    const bool by_rsh = plan.rsh_for_all || !is_this_host(plan.hosts[i].name);
    auto called = call_host(plan, i, by_rsh ? plan.rsh : "", inherited);
    if (!called) {
      for (HostLink& other : hosts) hang_up(other);
      return called.error();
    }
    hosts.push_back(std::move(called).value());
  }
  return hosts;
}

Result<std::vector<HostLink>> link_proxies(const HostsPlan& plan, StartedProxies proxies,
                                           const InheritedState& inherited) {
  std::vector<HostLink> hosts;
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    os::FileDescriptor socket = std::move(proxies.sockets[i]);
    if (socket.number() < 0) {
      MUSUBI_ASSIGN_OR_RETURN(auto called, call_host(plan, i, "", inherited));
      hosts.push_back(std::move(called));
    } else {
      // The two directions of a channel are watched separately, under different descriptors.
      os::FileDescriptor out(::fcntl(socket.number(), F_DUPFD_CLOEXEC, 0));
      const ChannelKeys keys = channel_keys(plan.order.welcome.secret, plan.hosts[i].ranks.first);
      hosts.push_back(link_to(plan.hosts[i], i, std::move(socket), std::move(out), plan.order.start_timeout,
                              {keys.to_proxy, keys.to_launcher}));
    }
    hosts.back().place = proxies.places[i];
  }
  return hosts;
}

// Proxies end after their channels, and the rsh processes after them. Kills those that take longer.
void end_calls(std::vector<HostLink>& hosts) {
  constexpr std::uint64_t patience_ns = 2'000'000'000;
  const std::uint64_t deadline_ns = os::monotonic_ns() + patience_ns;
  for (HostLink& host : hosts) host.channel.close();
  for (HostLink& host : hosts) {
    if (!host.is_called()) continue;
    while (os::monotonic_ns() < deadline_ns) {
      pollfd file{host.rsh.process.number(), POLLIN, 0};
      constexpr int look_again_ms = 100;
      if (::poll(&file, 1, look_again_ms) > 0) break;
    }
    signal_rsh(host.rsh, SIGKILL);
    ::waitpid(host.rsh.process_id, nullptr, 0);
  }
}

// Runs the job to its end and writes its trace.
Result<int> lead(const HostsPlan& plan, UserSignals& signals, std::vector<HostLink>& hosts) {
  const bool is_traced = plan.order.events_per_thread != 0;
  auto events = EventCollector::make(plan.order.ranks, plan.order.events_per_thread);
  if (!events) {
    for (HostLink& host : hosts) hang_up(host);
    return events.error();
  }
  const int status = HostsSupervisor(plan, signals, hosts, is_traced ? &events.value() : nullptr).run();
  end_calls(hosts);
  if (is_traced) plan.write_trace(events.value().logs(), events.value().zero_ns());
  return status;
}

}  // namespace

bool is_this_host(const std::string& name) {
  return name == "localhost" || name == os::host_name("localhost");
}

Result<std::vector<HostExamination>> HostsLauncher::examine(HostsPlan plan) {
  plan.order.examine = true;
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  MUSUBI_ASSIGN_OR_RETURN(auto hosts, call_hosts(plan, inherited));
  HostsSupervisor(plan, signals, hosts).run();
  end_calls(hosts);
  std::vector<HostExamination> examinations;
  for (HostLink& host : hosts) {
    const std::uint64_t answer_ns = host.answered_ns == 0 ? 0 : host.answered_ns - host.called_ns;
    examinations.push_back({{host.name, host.ranks, host.threads},
                            text_of({host.name, host.refusal}),
                            answer_ns,
                            std::move(host.facts)});
  }
  return examinations;
}

Result<int> HostsLauncher::run(HostsPlan plan) {
  MUSUBI_ASSIGN_OR_RETURN(plan.order.welcome.secret, make_secret());
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  MUSUBI_ASSIGN_OR_RETURN(auto hosts, call_hosts(plan, inherited));
  return lead(plan, signals, hosts);
}

Result<int> HostsLauncher::run(HostsPlan plan, StartedProxies proxies) {
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  MUSUBI_ASSIGN_OR_RETURN(auto hosts, link_proxies(plan, std::move(proxies), inherited));
  return lead(plan, signals, hosts);
}

}  // namespace musubi::launch
