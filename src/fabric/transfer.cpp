#include "fabric/transfer.h"

namespace musubi::fabric {

Task<> deliver(Fabric& fabric, Rank peer, MessageKind kind, Urgency urgency,
               std::span<const std::byte> body) {
  for (unsigned attempt = 0; fabric.send(peer, kind, urgency, body) == Outcome::busy; ++attempt) {
    co_await pause(attempt);
  }
}

}  // namespace musubi::fabric
