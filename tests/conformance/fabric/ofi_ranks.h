// Ranks of one process over the driver ofi, for tests.
#pragma once

#include <algorithm>
#include <memory>

#include "exchange_board.h"
#include "fabric/ofi/ofi.h"
#include "network_ranks.h"

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

struct OfiRank : NetworkRank<MessageTransport> {
  Result<void> open(Rank self, std::uint32_t ranks, std::size_t region_bytes, const OfiOptions& options,
                    const Exchange& exchange, WaitingPolicy policy, PeerWatcher* watcher = nullptr) {
    return open_by(
        [&] {
          const OfiReachable reachable{{region_of_tests, memory.data(), region_bytes}, true};
          OfiOptions with_region = options;
          with_region.reachable = {&reachable, 1};
          return open_ofi(self, ranks, with_region, exchange);
        },
        region_bytes, policy, watcher);
  }
};

// Whether this machine has the provider, and this build can test it; otherwise prints the reason. libfabric
// has a C library of its own: the thread sanitizer does not see its allocations, and takes reused memory for
// shared.
inline bool has_provider(std::string_view name) {
#if defined(__SANITIZE_THREAD__)
  std::printf("not tested over %.*s: the sanitizer of threads does not see libfabric's malloc\n",
              static_cast<int>(name.size()), name.data());
  return false;
#endif
  auto found = ofi_on_this_host();
  const auto is_named = [name](const OfiProvider& each) { return each.name == name; };
  if (found && std::ranges::any_of(found.value().providers, is_named)) return true;
  std::printf("not tested over %.*s: %s\n", static_cast<int>(name.size()), name.data(),
              found ? "libfabric has it not" : found.error().message.c_str());
  return false;
}

}  // namespace musubi::fabric::conformance
