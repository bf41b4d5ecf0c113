#include "runtime/start/own_limits.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string>

#include "base/in_units.h"
#include "os/system_call.h"

namespace musubi::runtime {
namespace {

// Private memory of a rank: program, libraries, allocations.
constexpr std::uint64_t own_bytes = std::uint64_t{1} << 30;
// Memory files of peers and connections to them; and files that every process of the runtime opens.
constexpr std::uint64_t files_per_rank = 7, files_of_runtime = 64;

// The kernel's limit, which may differ from the one that a program sees.
rlimit limit_on(__rlimit_resource resource) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  os::system_call(SYS_prlimit64, 0, resource, 0, os::as_argument(&limit));
  return limit;
}

Result<void> check_limit(__rlimit_resource resource, const char* what, const char* option,
                         std::uint64_t needed) {
  const rlimit limit = limit_on(resource);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return {};
  const std::string command = std::string("`ulimit ") + option;
  const bool is_hard = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed;
  return Error{
      std::string("the limit on ") + what + " (" + command + "`) is " + in_units(limit.rlim_cur) +
      ", and each rank reserves " + in_units(needed) + ", of which it takes what is touched: " +
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

void raise_open_files(std::uint32_t ranks) {
  rlimit limit = limit_on(RLIMIT_NOFILE);
  const rlim_t needed = files_of_runtime + files_per_rank * ranks;
  if (limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(limit.rlim_cur + needed, limit.rlim_max);
  os::system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, os::as_argument(&limit), 0);
}

}  // namespace musubi::runtime
