#include "job_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "config/environment.h"
#include "config/value.h"
#include "runtime/start/address_plan.h"
#include "runtime/start/reservation.h"

namespace musubi::tools {
namespace {

// The stack if the shell sets no limit, and the largest that it may ask for: a thread's stack takes 4 KiB of
// page tables per MiB.
constexpr std::uint64_t unlimited_stack_bytes = config::GiB;
constexpr std::uint64_t shell_stack_bytes_max = 4 * config::GiB;

std::uint64_t stack_bytes_of_shell() {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  const std::uint64_t of_main = limit.rlim_cur == RLIM_INFINITY ? unlimited_stack_bytes : limit.rlim_cur;
  const std::string of_threads = config::environment_variable("OMP_STACKSIZE").value_or("");
  return std::min(std::max(of_main, config::parse_openmp_size(of_threads).value_or(0)),
                  shell_stack_bytes_max);
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
  return runtime::fits_limits(reservation);
}

}  // namespace musubi::tools
