// Transport driver ofi: ranks of several hosts, connected by libfabric: the fast networks of clusters
// (Slingshot, Omni-Path, InfiniBand, EFA), or TCP. The library is loaded when the driver is opened.
// Operations on peers' memory are messages of the engine above; the network itself can carry out large gets
// and puts.
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

// Memory that peers read and write by the network itself. It stays until the transport ends.
struct OfiReachable {
  RegionMemory memory;
  // Its owner gives no pages back, so a card may pin it, which allocates all of its memory at once.
  bool keeps_pages = false;
};

struct OfiOptions {
  MessageOptions messages;
  std::string_view provider;  // libfabric's name; empty: the best of this host
  std::string_view network;   // an interface or an address of this host, for providers with IP addresses
  std::span<const OfiReachable> reachable;
  // Smaller gets and puts are messages. 0: all are. Unset: a built-in threshold with providers that keep
  // words whole and pin nothing, else 0. May differ between ranks.
  std::optional<std::size_t> rma_bytes_min;
};

// Collective; calls `exchange` twice. Makes no connection yet. Fails on all ranks or on none: no libfabric,
// no such provider or network, ranks with different providers, or builds that differ.
Result<std::unique_ptr<MessageTransport>> open_ofi(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                                   const Exchange& exchange);

// For `musubi doctor`: the abilities of a provider of this host.
struct OfiProvider {
  // How large gets and puts are done: by messages only; by the network itself if a setting asks for it,
  // perhaps with all of the memory pinned; by the network itself.
  enum class Moves : std::uint8_t { never, on_request, on_request_pinned, by_itself };
  std::string name;
  Moves moves = Moves::never;
  bool puts = false;  // puts, too; otherwise only gets
};
struct OfiOnThisHost {
  std::string version;                 // of libfabric
  std::vector<OfiProvider> providers;  // that can carry a job, the best first
};
// Loads the library. Errors: there is none.
Result<OfiOnThisHost> ofi_on_this_host();

}  // namespace musubi::fabric
