#include "runtime/start/reservation.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/in_units.h"
#include "os/cpu.h"
#include "os/limits.h"

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

namespace {

// Private memory of a rank: program, libraries, allocations.
constexpr std::uint64_t own_bytes = std::uint64_t{1} << 30;
// Memory files of peers and connections to them; and files that every process of the runtime opens.
constexpr std::uint64_t files_per_rank = 7, files_of_runtime = 64;

Result<void> check_limit(__rlimit_resource resource, const char* what, const char* option,
                         std::uint64_t needed) {
  const rlimit limit = os::kernel_limit(resource);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return {};
  const std::string command = std::string("`ulimit ") + option;
  const bool is_hard = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed;
  return Error{
      std::string("the limit on ") + what + " (" + command + "`) is " + in_units(limit.rlim_cur) +
      ", and each rank reserves " + in_units(needed) + ", but takes only memory that is touched: " +
      (is_hard ? "start the job from a shell or batch job without this limit, which cannot be raised here"
               : command + " unlimited` before the job")};
}

}  // namespace

Result<void> fits_limits(const Reservation& reservation) {
  if (auto fits = check_limit(RLIMIT_AS, "address space", "-v", reservation.mapped_bytes + own_bytes); !fits)
    return fits;
  if (auto fits = check_limit(RLIMIT_DATA, "private data", "-d", reservation.table_bytes + own_bytes); !fits)
    return fits;
  return check_limit(RLIMIT_FSIZE, "the size of files", "-f", reservation.file_bytes);
}

void add_open_files(std::uint32_t ranks) {
  const rlim_t soft = os::kernel_limit(RLIMIT_NOFILE).rlim_cur;
  const rlim_t needed = files_of_runtime + files_per_rank * ranks;
  if (soft < needed) os::set_soft_limit(0, RLIMIT_NOFILE, soft + needed);
}

}  // namespace musubi::runtime
