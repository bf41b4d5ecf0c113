// What the network carries out itself (Transport::begin_move): batches that are one get or one put, long
// enough. In others the order of the steps counts, and only the target's processor keeps it.
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

  // As Fabric::post. Result: false: the batch must go by a message. Any thread.
  bool begin(Rank peer, std::span<const Step> steps, Event& completion) noexcept;
  // Completes it. Inside Transport::poll.
  void end(void* token) noexcept;

 private:
  Transport& transport_;
  trace::Counters& counters_;
  const std::size_t bytes_min_;
  EntryPool under_way_;
};

}  // namespace musubi::fabric
