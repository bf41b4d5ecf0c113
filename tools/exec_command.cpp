#include "exec_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "become.h"
#include "bootstrap/local/invitation.h"
#include "config/value.h"
#include "hosts_command.h"
#include "job_limits.h"
#include "job_processes.h"
#include "launch/exec/connect.h"
#include "launch/exec/rendezvous.h"
#include "launch/hosts/launcher/hosts_launcher.h"
#include "launch/hosts/proxy/proxy.h"
#include "launch/mpi/mpi_job.h"
#include "launch/pmi/key_values.h"
#include "mpi_library.h"
#include "native_command.h"
#include "program_file.h"
#include "proxy_command.h"
#include "refusal.h"

namespace musubi::tools {
namespace {

using config::Configuration;

// Called on rank 0.
int refusal(const RunOptions& options, const config::Settings& settings, const launch::KeyValues& launcher,
            std::optional<PreparedProgram>& program) {
  if (options.ranks_given && options.ranks != launcher.ranks()) {
    return refuse("the launcher has started " + std::to_string(launcher.ranks()) + " ranks and not " +
                      std::to_string(options.ranks) + "; leave -n out, or correct it",
                  status_of_misuse);
  }
  if (launcher.ranks() > bootstrap::local::ranks_max) {
    return refuse("the launcher has started " + std::to_string(launcher.ranks()) +
                      " ranks; a job has at most " + std::to_string(bootstrap::local::ranks_max),
                  status_of_misuse);
  }
  const ProgramPath found = find_program(options.command.front());
  if (found.path.empty()) return refuse(found.error.message, found.error.exit_status);
  RunOptions whole = options;
  whole.ranks = launcher.ranks();
  int status = 0;
  program = prepare(found.path, whole, settings, status);
  return status;
}

// Printed once, if the user may not know that fewer processes would be faster.
void say_that_threads_are_faster(const launch::Rendezvous& meeting, const RunOptions& options,
                                 const config::Settings& settings, const std::string& program) {
  const bool was_asked_for = settings.ranks_per_host || asks_for_protocol(options, settings);
  if (was_asked_for || model_of(options, program) != Model::threads) return;
  std::map<std::uint16_t, std::uint32_t> ranks_at;
  for (const std::uint16_t place : meeting.places) ++ranks_at[place];
  std::uint32_t most = 1;
  for (const auto& [place, ranks] : ranks_at) most = std::max(most, ranks);
  if (most == 1) return;
  const std::string threads = std::to_string(most * settings.threads_per_rank);
  std::fprintf(stderr,
               "musubi: %u processes share a host, each with a memory of its own; one process per host is "
               "faster: `mpirun --map-by ppr:1:node:pe=%s musubi exec -t %s`, `srun --ntasks-per-node=1 "
               "--cpus-per-task=%s ... -t %s` (ranks_per_host=%u says that this is meant)\n",
               most, threads.c_str(), threads.c_str(), threads.c_str(), threads.c_str(), most);
}

int lead(launch::Rendezvous meeting, const bootstrap::Carrier& carrier, const RunOptions& options,
         const Configuration& configuration, const PreparedProgram& program) {
  const config::Settings& settings = configuration.settings();
  say_that_threads_are_faster(meeting, options, settings, program.path);
  auto sockets = launch::await_ranks(meeting, settings.start_timeout);
  if (!sockets) return refuse(sockets.error().message, status_of_failed_start);
  std::vector<launch::HostRanks> ranks;
  for (std::uint32_t rank = 0; rank < meeting.ranks; ++rank)
    ranks.push_back(
        {meeting.cards[rank].host, {rank, 1}, {static_cast<std::uint32_t>(settings.threads_per_rank)}});
  auto plan = plan_of(std::move(ranks), options, settings);
  if (!plan) return refuse(plan.error().message, status_of_failed_start);
  plan.value().order.bind = "none";  // pinning is left to the other launcher
  plan.value().order.welcome.secret = meeting.secret;
  plan.value().order.welcome.carrier = carrier;
  plan.value().order.started_by_other = true;
  add_program(plan.value(), options, program.path,
              environment_of_ranks(configuration, program.library, options.loads_itself));
  auto status = launch::HostsLauncher::run(std::move(plan).value(),
                                           {std::move(sockets).value(), std::move(meeting.places)});
  if (!status) return refuse(status.error().message, status_of_failed_start);
  return status.value();
}

int serve(const launch::Rendezvous& meeting, const bootstrap::Carrier& carrier,
          const config::Settings& settings) {
  auto socket = launch::call_rank_zero(meeting, settings.start_timeout);
  if (!socket) return refuse(socket.error().message, status_of_failed_start);
  return launch::run_proxy(proxy_services(),
                           {std::move(socket).value(), meeting.rank, meeting.secret, carrier});
}

// The other processes of the launcher: found by its protocol, or by its MPI.
struct Joined {
  std::unique_ptr<launch::MpiJob> mpi;
  std::unique_ptr<launch::KeyValues> launcher;
  launch::KeyValues& values() const { return mpi != nullptr ? mpi->values() : *launcher; }
};
Result<Joined> join(const config::Settings& settings) {
  Joined joined;
  if (talks_by_mpi(settings)) {
    auto adapter = find_mpi_adapter(settings);
    if (!adapter) return adapter.error();
    auto mpi = launch::MpiJob::join(adapter.value());
    if (!mpi) return mpi.error();
    joined.mpi = std::move(mpi).value();
  } else {
    auto launcher = launch::join_launcher();
    if (!launcher) return launcher.error();
    joined.launcher = std::move(launcher).value();
  }
  return joined;
}

// From the meeting of the processes to the end of the job. Result: the exit status.
int take_part(const Joined& joined, const Result<void>& read, const RunOptions& options,
              const Configuration& configuration) {
  const config::Settings& settings = configuration.settings();
  launch::KeyValues& values = joined.values();
  launch::Lead leading;
  std::optional<PreparedProgram> program;
  if (values.rank() == 0) {
    leading.refused_status =
        read ? refusal(options, settings, values, program) : refuse(read.error().message, status_of_misuse);
    leading.network = settings.network;
    if (const auto ports = config::port_range(settings.ports)) leading.ports = {ports->first, ports->last};
  }
  auto meeting = launch::meet(values, leading);
  if (!meeting) return refuse(meeting.error().message, status_of_failed_start);
  if (meeting.value().refused_status != 0) return meeting.value().refused_status;
  bootstrap::Carrier carrier;
  if (joined.mpi != nullptr) carrier = {::getpid(), joined.mpi->carry()};
  if (meeting.value().rank != 0) return serve(meeting.value(), carrier, settings);
  return lead(std::move(meeting).value(), carrier, options, configuration, *program);
}

// A job of this process alone. Result: its exit status, if it could not become the program; nothing if the
// job needs ranks.
std::optional<int> exec_alone(const RunOptions& options, Configuration& configuration) {
  const auto by = launch::started_by();
  if (!by || by->ranks != 1 || (options.ranks_given && options.ranks != 1)) return std::nullopt;
  const ProgramPath program = find_program(options.command.front());
  if (program.path.empty()) return std::nullopt;
  const auto processes = processes_of(options, configuration.settings(), model_of(options, program.path), {});
  if (!processes || !processes.value().is_native) return std::nullopt;
  name_idle_settings(configuration);
  return become(program.path, options.command,
                native_environment(processes.value(), configuration.settings()), status_of_cannot_execute);
}

}  // namespace

int exec(RunOptions options) {
  Configuration configuration;
  const auto read = read_settings(options, configuration);
  const config::Settings& settings = configuration.settings();
  if (read) {
    if (const auto status = exec_alone(options, configuration)) return *status;
  }
  auto joined = join(settings);
  if (!joined) {
    // All processes would print the same.
    const auto by = launch::started_by();
    if (by && by->rank != 0) return status_of_failed_start;
    return refuse(joined.error().message, status_of_failed_start);
  }
  follow_stack_limit(configuration, joined.value().values().ranks());
  const int status = take_part(joined.value(), read, options, configuration);
  if (joined.value().mpi != nullptr && !joined.value().mpi->leave()) {
    std::fflush(nullptr);
    ::_exit(status);
  }
  return status;
}

}  // namespace musubi::tools
