#include "job_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "config/environment.h"
#include "config/value.h"
#include "doctor/rules.h"
#include "runtime/address_plan.h"
#include "runtime/reservation.h"

namespace musubi::tools {
namespace {

// Where the shell sets no limit, and what it may ask for: a thread's stack takes 4 KiB of tables per MiB.
constexpr std::uint64_t unlimited_stack_bytes = config::GiB;
constexpr std::uint64_t shell_stack_bytes_max = 4 * config::GiB;
// Of a rank, besides what it shares: program, libraries, private memory.
constexpr std::uint64_t own_bytes = config::GiB;

rlimit limit_on(__rlimit_resource resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return limit;
}

std::uint64_t stack_bytes_of_shell() {
  const rlim_t limit = limit_on(RLIMIT_STACK).rlim_cur;
  const std::uint64_t of_main = limit == RLIM_INFINITY ? unlimited_stack_bytes : limit;
  const std::string of_threads = config::environment_variable("OMP_STACKSIZE").value_or("");
  return std::min(std::max(of_main, config::parse_openmp_size(of_threads).value_or(0)),
                  shell_stack_bytes_max);
}

Result<void> check_limit(__rlimit_resource resource, const char* what, const char* option,
                         std::uint64_t needed) {
  const rlimit limit = limit_on(resource);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) return {};
  const std::string command = std::string("`ulimit ") + option;
  const bool is_hard = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed;
  return Error{std::string("the shell's limit on ") + what + " (" + command + "`) is " +
               doctor::in_units(limit.rlim_cur) + ", and each rank reserves " + doctor::in_units(needed) +
               ", of which it takes what is touched: " +
               (is_hard
                    ? "start the job from a shell or batch job without this limit, as it cannot be raised "
                      "here again"
                    : command + " unlimited` before the job")};
}

}  // namespace

void follow_stack_limit(config::Configuration& configuration, std::uint32_t ranks) {
  const config::Settings& settings = configuration.settings();
  const auto threads = static_cast<std::uint32_t>(settings.threads_per_rank);
  const std::uint64_t room = runtime::stack_bytes_max(runtime::Mappers::on_one_host(ranks), threads);
  const std::uint64_t bytes = std::min(stack_bytes_of_shell(), room) / config::MiB * config::MiB;
  if (bytes <= settings.stack_bytes) return;
  [[maybe_unused]] const auto set = configuration.set_unless_given("stack_bytes", std::to_string(bytes));
}

Result<void> check_addresses(const config::Settings& settings, std::uint32_t ranks) {
  const auto mappers = runtime::Mappers::on_one_host(ranks);
  auto plan = runtime::AddressPlan::make(settings, mappers, {});
  if (!plan) return plan.error();
  const runtime::Reservation reservation = runtime::reservation_of(plan.value());
  if (auto fits = runtime::fits_processor(reservation, mappers); !fits) return fits;
  if (auto fits = check_limit(RLIMIT_AS, "address space", "-v", reservation.mapped_bytes + own_bytes); !fits)
    return fits;
  if (auto fits = check_limit(RLIMIT_DATA, "private data", "-d", reservation.table_bytes + own_bytes); !fits)
    return fits;
  return check_limit(RLIMIT_FSIZE, "the size of files", "-f", reservation.file_bytes);
}

}  // namespace musubi::tools
