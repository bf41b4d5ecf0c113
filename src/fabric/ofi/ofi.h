// Transport driver ofi: ranks of several hosts, joined by libfabric: the fast networks of clusters
// (Slingshot, Omni-Path, InfiniBand, EFA), and TCP where there is none. The library is loaded when the driver
// is opened. What ranks do to each other's memory is done by the engine above, by messages; the network
// itself can carry out large gets and puts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/exchange.h"
#include "fabric/fabric.h"
#include "fabric/messages/message_transport.h"

namespace musubi::fabric {

// What peers reach by the network itself: read, and write. It stays until the transport has ended.
struct OfiReachable {
  RegionMemory memory;
  // It gives no pages back. So a card may pin it, which takes all of its memory at once.
  bool keeps_pages = false;
};

struct OfiOptions {
  MessageOptions messages;
  std::string_view provider;  // as libfabric calls it; empty: the best of this host
  std::string_view network;  // an interface, or an address of this host, for providers that have IP addresses
  std::span<const OfiReachable> reachable;
  // Gets and puts of fewer bytes go by messages. 0: all do. None: some number with providers that keep words
  // whole and pin nothing, else 0. Peers need not have the same.
  std::optional<std::size_t> rma_bytes_min;
};

// Collective; calls `exchange` twice. Connects to nobody yet. Fails on all ranks or on none: no libfabric, no
// such provider or network, ranks with different providers, or builds that differ.
Result<std::unique_ptr<MessageTransport>> open_ofi(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                                   const Exchange& exchange);

// What `musubi doctor` says of this host.
struct OfiProvider {
  // How long gets and puts go: by messages alone; by the network itself where a setting asks for it, and then
  // perhaps with all of the memory pinned; by the network itself.
  enum class Moves : std::uint8_t { never, on_request, on_request_pinned, by_itself };
  std::string name;
  Moves moves = Moves::never;
  bool puts = false;  // not gets alone
};
struct OfiOnThisHost {
  std::string version;                 // of libfabric
  std::vector<OfiProvider> providers;  // that can carry a job, the best first
};
// Loads the library. Error: there is none.
Result<OfiOnThisHost> ofi_on_this_host();

}  // namespace musubi::fabric
