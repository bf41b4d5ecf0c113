#include "fabric/ofi/provider.h"

#include <arpa/inet.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <array>

#include "os/signal_calls.h"

#include "os/tcp.h"

namespace musubi::fabric::ofi {
namespace {

// The best first. Other providers are used only by name: `net`, `sockets` and `shm` break promises or spin,
// and udp;ofi_rxd detects no death (docs/decisions/networks.md).
constexpr std::array<std::string_view, 7> preference{"cxi",  "opx",           "psm3",       "efa",
                                                     "psm2", "verbs;ofi_rxm", "tcp;ofi_rxm"};

std::size_t place_of(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(preference, name) - preference.begin());
}

// Hardware moves whole cache lines. A kernel that copies bytes for a socket tears words. Other providers that
// may keep words whole pin memory.
constexpr std::string_view whole_words = "cxi";

// Its moves never complete if the peer dies.
constexpr std::string_view without_moves = "udp;ofi_rxd";

// A card acknowledges received data that need not be in memory yet: ofi_rxm promises more than verbs below it
// keeps. `net` completes puts that have not arrived.
constexpr std::array<std::string_view, 3> without_delivery{"verbs;ofi_rxm", "verbs;ofi_rxd", "net"};

enum class Abilities : std::uint8_t { messages, moves, moves_pinned };

Info make_hints(const Library& library, Abilities abilities) {
  Info hints(library.dupinfo(nullptr), {&library});
  const bool moves = abilities != Abilities::messages;
  hints->caps = moves ? FI_MSG | FI_RMA : FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR |
                                (abilities == Abilities::moves ? 0 : FI_MR_ALLOCATED);
  return hints;
}

// Result: a list, or null.
Info ask(const Library& library, const std::string& provider, const char* node,
         Abilities abilities = Abilities::messages) {
  library.enter();
  const Info hints = make_hints(library, abilities);
  std::string name = provider;
  if (!name.empty()) hints->fabric_attr->prov_name = name.data();
  fi_info* found = nullptr;
  const os::SignalsKept kept;
  const int status =
      library.getinfo(api_version, node, nullptr, node == nullptr ? 0 : FI_SOURCE, hints.get(), &found);
  hints->fabric_attr->prov_name = nullptr;  // the library must not free it
  return Info(status == 0 ? found : nullptr, {&library});
}

bool has_ip_address(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
         info.addr_format == FI_SOCKADDR_IN6;
}

std::string text_of(const os::SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool is_v4 = address.any.sa_family == AF_INET;
  ::inet_ntop(address.any.sa_family,
              is_v4 ? static_cast<const void*>(&address.v4.sin_addr) : &address.v6.sin6_addr, text,
              sizeof text);
  return text;
}

// The best of both lists: providers with an IP address from `at_address`, all other providers from
// `elsewhere`.
const fi_info* best_of(const Info& at_address, const Info& elsewhere, bool any_name) {
  const fi_info* best = nullptr;
  for (const fi_info* list : {at_address.get(), elsewhere.get()}) {
    for (const fi_info* each = list; each != nullptr; each = each->next) {
      if (has_ip_address(*each) != (list == at_address.get())) continue;
      const std::size_t place = place_of(name_of(*each));
      if (!any_name && place == preference.size()) continue;
      if (best == nullptr || place < place_of(name_of(*best))) best = each;
    }
  }
  return best;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

Result<Info> choose_provider(const Library& library, std::string_view provider, std::string_view network) {
  MUSUBI_ASSIGN_OR_RETURN(auto addresses, os::addresses_of_network(network));
  const std::string name(provider);
  const Info at_address = ask(library, name, text_of(addresses[0]).c_str());
  const Info elsewhere = ask(library, name, nullptr);
  const fi_info* const best = best_of(at_address, elsewhere, !provider.empty());
  if (best != nullptr) return Info(library.dupinfo(best), {&library});
  return Error{"libfabric " + library.version_text() + " has no provider " +
               (name.empty() ? std::string("that can carry messages") : name) + " here; it has: " +
               joined(list_providers(library)) + ". Set ofi_provider to one of them, or far_fabric=tcp"};
}

Info able_to_reach(const Library& library, const fi_info& chosen, std::string_view network, bool may_pin) {
  auto addresses = os::addresses_of_network(network);
  if (!addresses || name_of(chosen) == without_moves) return Info(nullptr, {&library});
  const std::string name(name_of(chosen));
  const std::string node = has_ip_address(chosen) ? text_of(addresses.value()[0]) : std::string();
  for (const Abilities abilities : {Abilities::moves, Abilities::moves_pinned}) {
    if (abilities == Abilities::moves_pinned && !may_pin) break;
    const Info found = ask(library, name, node.empty() ? nullptr : node.c_str(), abilities);
    for (const fi_info* each = found.get(); each != nullptr; each = each->next) {
      if (has_ip_address(*each) == has_ip_address(chosen) && name_of(*each) == name) {
        return Info(library.dupinfo(each), {&library});
      }
    }
  }
  return Info(nullptr, {&library});
}

OfiProvider describe(const Library& library, const std::string& name) {
  using Moves = OfiProvider::Moves;
  OfiProvider provider{name, Moves::never, false};
  if (name == without_moves) return provider;
  if (ask(library, name, nullptr, Abilities::moves) != nullptr) {
    provider.moves = keeps_words(name) ? Moves::by_itself : Moves::on_request;
  } else if (ask(library, name, nullptr, Abilities::moves_pinned) != nullptr) {
    provider.moves = Moves::on_request_pinned;
  }
  provider.puts = provider.moves != Moves::never && tells_delivery(name);
  return provider;
}

bool keeps_words(std::string_view name) {
  return name == whole_words;
}

bool tells_delivery(std::string_view name) {
  return std::ranges::find(without_delivery, name) == without_delivery.end();
}

std::vector<std::string> list_providers(const Library& library) {
  const Info found = ask(library, {}, nullptr);
  std::vector<std::string> names;
  for (const fi_info* each = found.get(); each != nullptr; each = each->next) {
    std::string name(name_of(*each));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  std::ranges::stable_sort(names, {}, [](const std::string& each) { return place_of(each); });
  return names;
}

}  // namespace musubi::fabric::ofi
