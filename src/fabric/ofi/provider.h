// Which of libfabric's providers carries a job's messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/ofi/library.h"
#include "fabric/ofi/ofi.h"

namespace musubi::fabric::ofi {

// Provider as named, or the best of this host. `network` as of os::addresses_of_network: of providers that
// have IP addresses, the first one. Errors: there is none such.
Result<Info> choose_provider(const Library& library, std::string_view provider, std::string_view network);

// The same provider, able to reach peers' memory by itself. `may_pin`: if need be one that must have it
// allocated, and pins it. Null: it is not able.
Info able_to_reach(const Library& library, const fi_info& chosen, std::string_view network, bool may_pin);
// Whether what it moves by itself is known to keep aligned words whole.
bool keeps_words(std::string_view name);
// Whether a put that it calls complete is in the peer's memory.
bool tells_delivery(std::string_view name);

// The providers of this host that can carry messages between ranks, the best first. Empty: none.
std::vector<std::string> list_providers(const Library& library);

// How this one, of the list, moves long gets and puts.
OfiProvider describe(const Library& library, const std::string& name);

// The name, as setting `ofi_provider` has it.
inline std::string_view name_of(const fi_info& info) {
  return info.fabric_attr->prov_name;
}

}  // namespace musubi::fabric::ofi
