// Transport driver ofi: ranks of several hosts, joined by libfabric: the fast networks of clusters
// (Slingshot, Omni-Path, InfiniBand, EFA), and TCP where there is none. The library is loaded when the driver
// is opened. Messages alone are used: what ranks do to each other's memory is done by the engine above.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/exchange.h"
#include "fabric/messages/message_transport.h"

namespace musubi::fabric {

struct OfiOptions {
  MessageOptions messages;
  std::string_view provider;  // as libfabric calls it; empty: the best of this host
  std::string_view network;  // an interface, or an address of this host, for providers that have IP addresses
};

// Collective; calls `exchange` twice. Connects to nobody yet. Fails on all ranks or on none: no libfabric, no
// such provider or network, ranks with different providers, or builds that differ.
Result<std::unique_ptr<MessageTransport>> open_ofi(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                                   const Exchange& exchange);

// What `musubi doctor` says of this host.
struct OfiOnThisHost {
  std::string version;                 // of libfabric
  std::vector<std::string> providers;  // that can carry a job, the best first
};
// Loads the library. Error: there is none.
Result<OfiOnThisHost> ofi_on_this_host();

}  // namespace musubi::fabric
