#include "runtime/start/reservation.h"

#include <algorithm>
#include <string>

#include "os/cpu.h"

namespace musubi::runtime {

Reservation reservation_of(const AddressPlan& plan) {
  const vm::Space& space = plan.space;
  const std::uint64_t words = coherence::VisitLayout(space.blocks_max()).region_bytes();
  const std::uint64_t tables = space.blocks_max() * TableBytes::in_process;
  // For its own memory a rank maps the user view, the system view and the public copies; for a peer's the
  // last two.
  const std::uint64_t own = 3 * space.bytes_max() + words + tables;
  const std::uint64_t of_peer = 2 * space.bytes_max() + words;
  const std::uint64_t together = plan.mappers.together;
  return {own + (together - 1) * of_peer + together * plan.global_bytes, tables,
          std::max<std::uint64_t>(space.bytes_max(), plan.global_bytes)};
}

Result<void> fits_processor(const Reservation& reservation, const Mappers& mappers) {
  if (reservation.mapped_bytes < os::address_space_bytes) return {};
  constexpr std::uint64_t tib = std::uint64_t{1} << 40;
  const std::string on_one_host = mappers.together < mappers.ranks
                                      ? ", of which " + std::to_string(mappers.together) + " share a host,"
                                      : "";
  return Error{"each rank of a job of " + std::to_string(mappers.ranks) + " ranks" + on_one_host +
               " would reserve " + std::to_string(reservation.mapped_bytes / tib) +
               " TiB of addresses, the processor has 128 TiB: lower heap_bytes, stack_bytes or global_bytes "
               "(--set), or the number of ranks on a host"};
}

}  // namespace musubi::runtime
