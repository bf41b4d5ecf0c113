// Transport driver mpi: ranks of several hosts, connected by the MPI that started them, for machines whose
// fast network only that MPI can use. The rank's process does not call MPI: its parent `musubi exec` carries
// its messages (carrier.h), through memory that both share (shared_parcels.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "fabric/exchange.h"
#include "fabric/messages/message_transport.h"

namespace musubi::fabric {

struct MpiOptions {
  MessageOptions messages;
  pid_t carrier = 0;  // the process that carries for this rank; 0: none
  int file = -1;      // of its shared parcels
};

// Collective; calls `exchange` twice. Fails on all ranks or on none: there is no carrier, or builds differ.
Result<std::unique_ptr<MessageTransport>> open_mpi(Rank self, std::uint32_t ranks, const MpiOptions& options,
                                                   const Exchange& exchange);

}  // namespace musubi::fabric
