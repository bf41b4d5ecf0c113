#include "launch/launch_plan.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "bootstrap/local/invitation.h"

namespace musubi::launch {
namespace {

using bootstrap::local::ranks_max;

// The threads of each process of a host with this many slots.
std::vector<std::uint32_t> share_threads(std::uint32_t slots, const ProcessRule& rule) {
  if (!rule.per_host) return std::vector<std::uint32_t>(slots, rule.threads_per_slot);
  const std::uint32_t threads = slots * rule.threads_per_slot;
  const std::uint32_t processes = std::min(*rule.per_host, threads);
  std::vector<std::uint32_t> shares(processes, threads / processes);
  for (std::uint32_t i = 0; i < threads % processes; ++i) ++shares[i];
  return shares;
}

}  // namespace

Result<std::vector<HostRanks>> place_on_hosts(const std::vector<HostSlots>& hosts,
                                              std::optional<std::uint32_t> slots, const ProcessRule& rule) {
  std::uint64_t offered = 0;
  for (const HostSlots& host : hosts) offered += host.slots;
  const std::uint64_t wanted = slots.value_or(offered);
  if (wanted > offered) {
    return Error{std::to_string(wanted) + " ranks do not fit: the hosts have " + std::to_string(offered) +
                 " slots; give more, as in h1:4"};
  }
  std::vector<HostRanks> placed;
  std::uint64_t filled = 0, first = 0;
  for (const HostSlots& host : hosts) {
    const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(host.slots, wanted - filled));
    if (here == 0) break;
    std::vector<std::uint32_t> threads = share_threads(here, rule);
    filled += here;
    if (first + threads.size() > ranks_max) {
      return Error{"the hosts would run more than " + std::to_string(ranks_max) +
                   " processes, which is the most that a job may have; name fewer, or give -n"};
    }
    const auto count = static_cast<std::uint32_t>(threads.size());
    placed.push_back({host.name, {static_cast<std::uint32_t>(first), count}, std::move(threads)});
    first += count;
  }
  return placed;
}

std::uint32_t ranks_of(const std::vector<HostRanks>& hosts) {
  return hosts.back().ranks.first + hosts.back().ranks.count;
}

std::vector<std::uint32_t> threads_of(const std::vector<HostRanks>& hosts) {
  std::vector<std::uint32_t> all;
  for (const HostRanks& host : hosts) std::ranges::copy(host.threads, std::back_inserter(all));
  return all;
}

Result<std::string> make_secret() {
  constexpr std::size_t bytes = 32;
  std::string secret(bytes, '\0');
  ssize_t given = 0;
  while ((given = ::getrandom(secret.data(), bytes, 0)) < 0 && errno == EINTR) {
  }
  if (given != static_cast<ssize_t>(bytes)) {
    return Error{std::string("the kernel gives no random bytes: ") + std::strerror(errno) +
                 "; allow getrandom(2) in the sandbox"};
  }
  return secret;
}

}  // namespace musubi::launch
