// The ranks of another launcher meet by its key-value exchange: they learn which ranks share a host, and the
// address of rank 0, whose process leads the job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/exec/card.h"
#include "launch/pmi/key_values.h"
#include "os/memory.h"
#include "os/tcp.h"

namespace musubi::launch {

// The data that rank 0 contributes.
struct Lead {
  int refused_status = 0;    // as in Door
  std::string_view network;  // as in os::addresses_of_network; empty: all
  os::PortRange ports;
};

struct Meeting {
  std::uint32_t rank = 0, ranks = 1;
  std::vector<Card> cards;            // by rank; on ranks other than 0 only those of lower ranks
  std::vector<std::uint16_t> places;  // by rank: equal ones share a host. On rank 0 only
  int refused_status = 0;
  std::string secret;                        // of the job
  os::FileDescriptor listening;              // of rank 0
  std::vector<os::SocketAddress> addresses;  // of rank 0, for this rank
};

// Collective; leaves the exchange at the end. `lead` is used on rank 0. Errors: those of the exchange; no
// port or no such network; ranks of different versions.
Result<Meeting> meet(KeyValues& launcher, const Lead& lead);

}  // namespace musubi::launch
