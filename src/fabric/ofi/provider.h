// Chooses the libfabric provider that carries a job's messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/ofi/library.h"
#include "fabric/ofi/ofi.h"

namespace musubi::fabric::ofi {

// The provider of this name, or the best of this host. `network` as in os::addresses_of_network: providers
// with IP addresses use its first one. Errors: there is no such provider.
Result<Info> choose_provider(const Library& library, std::string_view provider, std::string_view network);

// The same provider, able to access peers' memory by itself. `may_pin` also allows one that requires
// allocated memory, and pins it. Null: it is not able.
Info able_to_reach(const Library& library, const fi_info& chosen, std::string_view network, bool may_pin);
// Whether its own moves are known to keep aligned words whole.
bool keeps_words(std::string_view name);
// Whether a put is in the peer's memory when it completes.
bool tells_delivery(std::string_view name);

// The providers of this host that can carry messages between ranks, the best first. May be empty.
std::vector<std::string> list_providers(const Library& library);

// How this provider of the list moves large gets and puts.
OfiProvider describe(const Library& library, const std::string& name);

// The name, as in setting `ofi_provider`.
inline std::string_view name_of(const fi_info& info) {
  return info.fabric_attr->prov_name;
}

}  // namespace musubi::fabric::ofi
