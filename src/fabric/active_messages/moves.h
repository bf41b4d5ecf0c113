// Gets and puts that the network carries out itself (Transport::begin_move): batches of one step that is long
// enough. In longer batches the order of the steps matters, and only the target's processor keeps it.
#pragma once

#include <cstddef>
#include <span>

#include "fabric/active_messages/entries.h"
#include "fabric/active_messages/transport.h"
#include "fabric/fabric.h"
#include "trace/counters.h"

namespace musubi::fabric {

// Signal-safe.
class Moves {
 public:
  Moves(Transport& transport, trace::Counters& counters);

  // As Fabric::post. Result: false if the batch must go as a request. Any thread.
  bool begin(Rank peer, std::span<const Step> steps, Event& completion) noexcept;
  // Completes the move. Inside Transport::poll.
  void end(void* token) noexcept;

 private:
  Transport& transport_;
  trace::Counters& counters_;
  const std::size_t bytes_min_;
  EntryPool under_way_;
};

}  // namespace musubi::fabric
