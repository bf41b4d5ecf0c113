// Ranks of one process over the driver ofi, for tests.
#pragma once

#include <algorithm>
#include <memory>

#include "exchange_board.h"
#include "fabric/active_messages/engine.h"
#include "fabric/ofi/ofi.h"
#include "network_ranks.h"
#include "os/memory.h"

namespace musubi::fabric::conformance {

inline OfiOptions ofi_options_of_tests(std::string_view provider = "tcp;ofi_rxm",
                                       std::string_view network = "127.0.0.1") {
  OfiOptions options;
  options.messages.secret = secret_of_tests;
  options.messages.build = "test";
  options.provider = provider;
  options.network = network;
  return options;
}

// One rank: some memory as its one region, the transport, and the fabric over it.
struct OfiRank {
  os::Mapping memory;
  trace::Counters counters;
  std::unique_ptr<MessageTransport> transport;
  std::unique_ptr<ActiveMessages> fabric;

  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes, const OfiOptions& options,
                    const Exchange& exchange, WaitingPolicy policy, PeerWatcher* watcher = nullptr) {
    auto mapped = os::Mapping::anywhere(region_bytes, os::Protection::read_write);
    if (!mapped) return mapped.error();
    memory = std::move(mapped).value();
    auto opened = open_ofi(self, ranks, options, exchange);
    if (!opened) return opened.error();
    transport = std::move(opened).value();
    const RegionMemory region{RegionId{0}, memory.data(), region_bytes};
    fabric = std::make_unique<ActiveMessages>(*transport, std::span(&region, 1), counters, policy, watcher);
    return {};
  }
};

// Whether this machine has the provider, and this build can judge it; says so where not. libfabric has a C
// library of its own: a sanitizer of threads does not see what is allocated there, and takes memory that is
// used again for shared.
inline bool has_provider(std::string_view name) {
#if defined(__SANITIZE_THREAD__)
  std::printf("not tested over %.*s: the sanitizer of threads does not see libfabric's malloc\n",
              static_cast<int>(name.size()), name.data());
  return false;
#endif
  auto found = ofi_on_this_host();
  if (found && std::ranges::find(found.value().providers, name) != found.value().providers.end()) return true;
  std::printf("not tested over %.*s: %s\n", static_cast<int>(name.size()), name.data(),
              found ? "libfabric has it not" : found.error().message.c_str());
  return false;
}

}  // namespace musubi::fabric::conformance
