#include "runtime/reservation.h"

namespace musubi::runtime {

Reservation reservation_of(const vm::Space& space) {
  const std::uint64_t words = space.blocks() * TableBytes::words;
  const std::uint64_t tables = space.blocks() * TableBytes::in_process;
  // Of its own memory a rank has the user view, the system view and the public copies; of a peer's the last
  // two.
  const std::uint64_t own = 3 * space.bytes() + words + tables;
  const std::uint64_t of_peer = 2 * space.bytes() + words;
  return {own + (space.ranks() - 1) * of_peer, tables, space.bytes()};
}

}  // namespace musubi::runtime
