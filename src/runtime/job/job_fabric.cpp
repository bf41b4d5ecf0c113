#include "runtime/job/job_fabric.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/check.h"
#include "base/in_units.h"
#include "coherence/regions.h"
#include "config/value.h"
#include "os/clock.h"
#include "os/lines.h"
#include "runtime/api/global_memory.h"
#include "runtime/api/own_build.h"

namespace musubi::runtime {
namespace {

// Added to the time that ranks get to end by themselves.
constexpr std::uint64_t patience_ns = 5'000'000'000;

// Regions with bytes of the program but no words of a protocol: if the user permits it (rma_bytes_min), a
// network whose transfers may tear words accesses them.
std::vector<fabric::OfiReachable> reachable_of(std::span<const fabric::RegionMemory> regions) {
  std::vector<fabric::OfiReachable> reachable;
  for (const fabric::RegionMemory& region : regions) {
    const bool is_global = region.id == GlobalMemory::region;
    if (is_global || region.id == coherence::published_region) reachable.push_back({region, is_global});
  }
  return reachable;
}

}  // namespace

std::size_t far_run_bytes_max(const JobContext& job) {
  constexpr std::uint64_t share_of_memory = 64;
  const config::Settings& settings = job.settings;
  if (ranks_map_each_other(settings, job.bootstrap->hosts())) return 0;
  const std::uint64_t most = settings.memory_max.value_or(UINT64_MAX) / share_of_memory;
  return std::min(settings.far_run_bytes_max, most);
}

Result<void> JobFabric::open(std::span<const fabric::RegionMemory> regions, fabric::WaitingPolicy policy) {
  const config::Settings& settings = job_.settings;
  const bootstrap::Hosts& hosts = job_.bootstrap->hosts();
  const bool all_far = settings.near_fabric != "shm";
  const bool any_far = job_.ranks > 1 && (all_far || hosts.count() > 1);
  const bool any_near = !any_far || (!all_far && hosts.count() < job_.ranks);
  if (makes_peers_far(settings) && any_far) {
    return Error{
        "fabric_delay and fabric_bandwidth are for ranks that share a host and its memory; leave them "
        "out with near_fabric=tcp, ofi or mpi and in jobs of several hosts"};
  }
  if (all_far && hosts.count() > 1 && settings.near_fabric != settings.far_fabric) {
    return Error{"near_fabric=" + settings.near_fabric + " and far_fabric=" + settings.far_fabric +
                 " exclude each other: a rank has one network; give both the same word, or near_fabric=shm"};
  }
  if (any_far) {
    if (auto opened = open_far(regions, policy); !opened) return opened;
    chosen_ = memory_ = far_.get();
  }
  if (any_near) {
    if (auto opened = open_near(regions, policy); !opened) return opened;
    chosen_ = memory_ = near_.get();
  }
  if (any_far && any_near) {
    joined_ = std::make_unique<fabric::MixedFabric>(*near_, *far_);
    chosen_ = memory_ = joined_.get();
  } else if (makes_peers_far(settings)) {
    const fabric::Distance distance{static_cast<std::uint64_t>(settings.fabric_delay.count()),
                                    settings.fabric_bandwidth};
    joined_ = std::make_unique<fabric::DelayedFabric>(*near_, distance);
    chosen_ = joined_.get();
  }
  return {};
}

Result<void> JobFabric::open_far(std::span<const fabric::RegionMemory> regions,
                                 fabric::WaitingPolicy policy) {
  const config::Settings& settings = job_.settings;
  const std::string_view secret = job_.bootstrap->secret();
  MUSUBI_CHECK(!secret.empty(), "the bootstrap has no secret for connections between ranks");
  auto opened = open_transport(settings.near_fabric == "shm" ? settings.far_fabric : settings.near_fabric,
                               secret, regions);
  if (!opened) return opened.error();
  transport_ = std::move(opened).value();
  auto sealed = seal(secret);
  if (!sealed) return sealed.error();
  const fabric::Distance distance{static_cast<std::uint64_t>(settings.network_latency.count()),
                                  settings.network_bandwidth};
  far_ = std::make_unique<fabric::ActiveMessages>(*sealed.value(), regions, job_.counters, policy,
                                                  static_cast<fabric::PeerWatcher*>(this),
                                                  fabric::Outbox::Limits{}, distance);
  return {};
}

// Collective. The engine's transport, with a layer that checks or encrypts its bytes if settings ask for one.
Result<fabric::Transport*> JobFabric::seal(std::string_view secret) {
  using fabric::Cipher;
  if (!job_.settings.encrypt && job_.settings.far_check == "none") return transport_.get();
  Cipher cipher = Cipher::none;
  if (job_.settings.encrypt) {
    cipher = fabric::LaneKeys::best_cipher();
    auto all = job_.bootstrap->all_gather({reinterpret_cast<const char*>(&cipher), sizeof cipher});
    if (!all) return all.error();
    const std::string own = all.value()[job_.self.value];
    const bool are_alike = std::ranges::all_of(all.value(), [&](const auto& each) { return each == own; });
    if (!are_alike) cipher = Cipher::chacha20_poly1305;
  }
  sealed_ = std::make_unique<fabric::SealedTransport>(*transport_, cipher, std::as_bytes(std::span(secret)));
  return sealed_.get();
}

Result<std::unique_ptr<fabric::Transport>> JobFabric::open_transport(
    std::string_view driver, std::string_view secret, std::span<const fabric::RegionMemory> regions) {
  const config::Settings& settings = job_.settings;
  const std::string build = own_build();
  const bool is_local = job_.bootstrap->hosts().count() == 1;
  const std::string_view network =
      settings.network.empty() && is_local ? "127.0.0.1" : std::string_view(settings.network);
  const auto exchange = [this](std::string_view blob) { return job_.bootstrap->all_gather(blob); };
  fabric::MessageOptions messages;
  messages.secret = std::as_bytes(std::span(secret));
  messages.build = build;
  messages.log = this;
  if (driver == "mpi") {
    const bootstrap::Carrier carrier = job_.bootstrap->carrier();
    auto opened =
        fabric::open_mpi(job_.self, job_.ranks, {messages, carrier.process, carrier.file}, exchange);
    if (!opened) return opened.error();
    return std::unique_ptr<fabric::Transport>(std::move(opened).value());
  }
  if (driver == "ofi") {
    fabric::OfiOptions options;
    options.messages = messages;
    options.provider = settings.ofi_provider;
    options.network = network;
    const std::vector<fabric::OfiReachable> reachable = reachable_of(regions);
    options.reachable = reachable;
    options.rma_bytes_min = settings.rma_bytes_min;
    if (settings.encrypt) {
      if (settings.rma_bytes_min.value_or(0) != 0) {
        return Error{
            "encrypt=true excludes rma_bytes_min: bytes that the network card moves by itself are not "
            "encrypted; leave rma_bytes_min out"};
      }
      options.rma_bytes_min = 0;
    }
    auto opened = fabric::open_ofi(job_.self, job_.ranks, options, exchange);
    if (!opened) return opened.error();
    return std::unique_ptr<fabric::Transport>(std::move(opened).value());
  }
  fabric::TcpOptions options;
  options.secret = std::as_bytes(std::span(secret));
  options.build = build;
  options.network = network;
  if (const auto ports = config::port_range(settings.ports)) options.ports = {ports->first, ports->last};
  options.silence_max = std::chrono::duration_cast<std::chrono::milliseconds>(settings.silence_max);
  options.log = this;
  auto opened = fabric::open_tcp(job_.self, job_.ranks, options, exchange);
  if (!opened) return opened.error();
  return std::unique_ptr<fabric::Transport>(std::move(opened).value());
}

Result<void> JobFabric::open_near(std::span<const fabric::RegionMemory> regions,
                                  fabric::WaitingPolicy policy) {
  const bootstrap::Hosts& hosts = job_.bootstrap->hosts();
  const auto exchange = [this](std::string_view blob) { return job_.bootstrap->all_gather(blob); };
  auto opened = fabric::ShmFabric::open(job_.self, job_.ranks, regions, exchange, job_.counters, policy,
                                        {hosts.ranks_on(hosts.of(job_.self)), far_.get()});
  if (!opened) return opened.error();
  near_ = std::move(opened).value();
  return {};
}

void JobFabric::set_policy(fabric::WaitingPolicy policy) noexcept {
  if (near_ != nullptr) near_->set_policy(policy);
  if (far_ != nullptr) far_->set_policy(policy);
}

void JobFabric::peer_failed(Rank peer, fabric::Loss loss) noexcept {
  if (lost_since_ns_.load() != 0) return;
  lost_peer_.store(peer.value);
  loss_ = loss;
  lost_since_ns_.store(os::monotonic_ns());
  chosen_->wake_service();
}

std::string JobFabric::reason_to_end() const {
  using Kind = fabric::Loss::Kind;
  const std::uint64_t since = lost_since_ns_.load();
  if (since == 0) return {};
  const auto patience = patience_ns + static_cast<std::uint64_t>(job_.settings.abort_timeout.count());
  const bool may_have_left = loss_.kind == Kind::ended;
  if (may_have_left && os::monotonic_ns() - since < patience) return {};
  const Rank peer{lost_peer_.load()};
  const std::string self = "rank " + std::to_string(job_.self.value);
  const std::string other = "rank " + std::to_string(peer.value) + " " + transport_->way_to(peer);
  switch (loss_.kind) {
    case Kind::ended:
      return self + " has lost " + other + ": " + loss_.reason;
    case Kind::silent:
      return self + " has lost contact with " + other + " for " + in_seconds(job_.settings.silence_max) +
             " (silence_max): " + loss_.reason + "; that host hangs, or the network between both is down";
    case Kind::unreachable:
      return self + " cannot reach " + other + ": " + loss_.reason +
             "; check the network between both, or name another one by --set network=NAME";
    case Kind::damaged:
      return self + " takes nothing more from " + other + ": " + loss_.reason +
             "; see to network cards, cables and switches between both hosts";
    case Kind::refused:
      return self + " takes nothing more from " + other + ": " + loss_.reason;
  }
  __builtin_unreachable();
}

// Called by the service thread, for which all other ranks may be waiting: the line must not block.
void JobFabric::say(std::string_view line) noexcept {
  std::array<char, 400> text;
  const int prefix = std::snprintf(text.data(), text.size(), "musubi: rank %u: ", job_.self.value);
  const std::string_view said = line.substr(0, text.size() / 4 * 3);
  char* end = std::ranges::copy(said, text.data() + prefix).out;
  *end++ = '\n';
  os::write_line_at_once(STDERR_FILENO, {text.data(), end});
}

}  // namespace musubi::runtime
