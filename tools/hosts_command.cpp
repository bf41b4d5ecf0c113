#include "hosts_command.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "host_facts.h"
#include "launch/hosts/launcher/hosts_launcher.h"
#include "launch/user_signals.h"
#include "refusal.h"
#include "trace_file.h"

namespace musubi::tools {
namespace {

Result<std::vector<launch::HostSlots>> find_hosts(const RunOptions& options) {
  if (!options.hosts.empty() && !options.host_file.empty()) {
    return Error{"--hosts and --hostfile both name hosts; give one of them"};
  }
  auto hosts = launch::parse_hosts(options.hosts);
  if (!options.host_file.empty()) {
    std::ifstream file(options.host_file);
    std::stringstream contents;
    if (!file || !(contents << file.rdbuf())) {
      return Error{"cannot read the hosts in " + options.host_file + ": " +
                   (errno != 0 ? std::strerror(errno) : "it is empty")};
    }
    hosts = launch::parse_host_file(contents.str());
    if (!hosts) return Error{options.host_file + ": " + hosts.error().message};
  }
  if (!hosts) return Error{"--hosts: " + hosts.error().message};
  return hosts;
}

std::string path_of_command(const RunOptions& options) {
  if (!options.remote_path.empty()) return options.remote_path;
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

std::uint64_t stack_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  return limit.rlim_cur;
}

std::uint32_t file_mask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

bool goes_to_hosts(const std::string& variable) {
  constexpr std::string_view names[] = {
      "_",        "OLDPWD", "SHLVL", "HOSTNAME",        "DISPLAY",  "XAUTHORITY", "WAYLAND_DISPLAY",
      "WINDOWID", "STY",    "TMUX",  "XDG_RUNTIME_DIR", "XDG_SEAT", "XDG_VTNR",   "DBUS_SESSION_BUS_ADDRESS"};
  // Variables of launchers: a program that uses MPI would take itself for one of their ranks.
  constexpr std::string_view families[] = {"SSH_",  "XDG_SESSION_", "SLURM_",    "SLURMD_",
                                           "SRUN_", "PMI_",         "PMIX_",     "OMPI_",
                                           "PRTE_", "HYDI_",        "MPI_LOCAL", "MPIR_CVAR_CH3_INTERFACE_"};
  const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
  return std::ranges::find(names, name) == std::end(names) &&
         std::ranges::none_of(families, [&](std::string_view family) { return name.starts_with(family); });
}

Result<std::vector<launch::HostSlots>> slots_of_hosts(const RunOptions& options) {
  if (!options.on_hosts()) return std::vector<launch::HostSlots>();
  return find_hosts(options);
}

std::string library_on_hosts(const RunOptions& options, const std::string& library) {
  if (library.empty() || options.remote_path.empty()) return library;
  const std::filesystem::path command(options.remote_path);
  return command.parent_path().parent_path() / "lib" / std::filesystem::path(library).filename();
}

Result<launch::HostsPlan> plan_of(std::vector<launch::HostRanks> hosts, const RunOptions& options,
                                  const config::Settings& settings) {
  launch::HostsPlan plan;
  plan.hosts = std::move(hosts);
  plan.rsh = options.rsh.empty() ? "ssh" : options.rsh;
  plan.rsh_for_all = !options.rsh.empty();
  plan.musubi_path = path_of_command(options);
  plan.greeting = greeting();
  plan.abort_timeout = settings.abort_timeout;
  plan.stall_report = settings.stall_report;
  launch::JobOrder& order = plan.order;
  std::error_code failure;
  order.folder = std::filesystem::current_path(failure);
  if (failure) return Error{"cannot find the working directory: " + failure.message()};
  order.stack_bytes = stack_limit();
  order.file_mask = file_mask();
  order.ignored_signals = launch::ignored_signals();
  order.ranks = launch::ranks_of(plan.hosts);
  order.bind = settings.bind;
  order.threads_per_rank = static_cast<std::uint32_t>(settings.threads_per_rank);
  order.label_output = settings.label_output;
  if (!settings.trace.empty()) {
    order.events_per_thread = settings.trace_events;
    plan.write_trace = [path = settings.trace](auto logs, auto zero_ns) {
      write_trace_file(path, logs, zero_ns);
    };
  }
  order.plain = options.plain;
  order.host_timeout = settings.host_timeout;
  order.start_timeout = settings.start_timeout;
  return plan;
}

void add_program(launch::HostsPlan& plan, const RunOptions& options, const std::string& program,
                 std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& variable) { return !goes_to_hosts(variable); });
  plan.order.program = std::filesystem::absolute(program).lexically_normal();
  plan.order.arguments = options.command;
  plan.order.environment = std::move(environment);
}

int run_on_hosts(const RunOptions& options, const config::Settings& settings,
                 std::vector<launch::HostRanks> hosts, const std::string& program,
                 std::vector<std::string> environment) {
  auto plan = plan_of(std::move(hosts), options, settings);
  if (!plan) return refuse(plan.error().message, status_of_misuse);
  add_program(plan.value(), options, program, std::move(environment));
  auto status = launch::HostsLauncher::run(std::move(plan).value());
  if (!status) return refuse(status.error().message, status_of_failed_start);
  return status.value();
}

}  // namespace musubi::tools
