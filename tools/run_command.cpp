#include "run_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "become.h"
#include "config/environment.h"
#include "config/reference_page.h"
#include "hosts_command.h"
#include "job_limits.h"
#include "job_processes.h"
#include "launch/hosts/launcher/hosts_launcher.h"
#include "launch/local/local_launcher.h"
#include "mpi_library.h"
#include "native_command.h"
#include "network/measured.h"
#include "process_places.h"
#include "program_file.h"
#include "refusal.h"
#include "slurm_command.h"
#include "topology.h"
#include "trace_file.h"

namespace musubi::tools {
namespace {

using config::Configuration;
using config::Source;

void remove_variable(std::vector<std::string>& environment, const std::string& name) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
}

void replace_variable(std::vector<std::string>& environment, const std::string& name,
                      const std::string& value) {
  remove_variable(environment, name);
  environment.push_back(name + "=" + value);
}

// A library loaded at run time has its thread-local variables in space that the loader reserves for such
// libraries; by default that is less than libmusubi needs.
void make_room_for_thread_locals(std::vector<std::string>& environment) {
  const std::string room = "glibc.rtld.optional_static_tls=16384";
  const std::string others = config::environment_variable("GLIBC_TUNABLES").value_or("");
  replace_variable(environment, "GLIBC_TUNABLES", others.empty() ? room : others + ":" + room);
}

Result<fabric::Distance> read_network(const RunOptions& options) {
  std::ifstream file(options.network_file);
  std::stringstream contents;
  if (!file) return Error{std::strerror(errno)};
  contents << file.rdbuf();
  auto measured = network::parse(contents.str());
  if (!measured) return measured.error();
  std::vector<std::string> hosts;
  if (options.on_hosts()) {
    auto named = slots_of_hosts(options);
    if (!named) return named.error();
    if (named.value().size() > 1) {
      for (const launch::HostSlots& host : named.value()) hosts.push_back(host.name);
    }
  }
  return network::distance_among(measured.value(), hosts);
}

// The values of the file given by --network, as settings.
Result<void> set_network(const RunOptions& options, Configuration& configuration) {
  if (options.network_file.empty()) return {};
  auto distance = read_network(options);
  if (!distance) {
    return Error{"--network: cannot use " + options.network_file + ": " + distance.error().message +
                 "; make it by `musubi doctor --hosts ... --save " + options.network_file + "`"};
  }
  const std::string latency = std::to_string(distance.value().round_trip_ns) + "ns";
  const std::string bandwidth = std::to_string(distance.value().bits_per_second) + "bps";
  if (auto set = configuration.set("network_latency", latency, Source::command_line); !set) return set;
  return configuration.set("network_bandwidth", bandwidth, Source::command_line);
}

}  // namespace

std::vector<std::string> environment_of_ranks(const Configuration& configuration, const std::string& library,
                                              bool loads_itself) {
  std::vector<std::string> environment = config::environment_variables();
  for (const std::string& variable : configuration.environment()) {
    const std::size_t equals = variable.find('=');
    replace_variable(environment, variable.substr(0, equals), variable.substr(equals + 1));
  }
  if (!library.empty()) {
    const std::string others = config::environment_variable("LD_PRELOAD").value_or("");
    replace_variable(environment, "LD_PRELOAD", others.empty() ? library : library + ":" + others);
    // The program's own OpenMP library, idle but loaded, would pin every rank to the first place of all.
    for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
      remove_variable(environment, name);
    }
    for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES"}) {
      if (const auto value = config::environment_variable(name))
        replace_variable(environment, std::string(config::handed_prefix) + name, *value);
    }
  }
  // Functions bound one by one on first use would make .got.plt, which lies among the globals, differ between
  // ranks.
  replace_variable(environment, "LD_BIND_NOW", "1");
  if (loads_itself) make_room_for_thread_locals(environment);
  return environment;
}

std::optional<PreparedProgram> prepare(const std::string& program, const RunOptions& options,
                                       const config::Settings& settings, int& status) {
  const auto refused = [&](const std::string& message, int exit_status) {
    status = refuse(message, exit_status);
    return std::nullopt;
  };
  Preload preload = options.preload ? Preload::always : Preload::automatic;
  if (options.plain || options.loads_itself) preload = Preload::never;
  auto library = library_to_preload(program, preload);
  if (!library) return refused(library.error().message, status_of_cannot_execute);
  if (const auto fit = check_addresses(settings, options.ranks); !options.plain && !fit) {
    return refused(fit.error().message, status_of_misuse);
  }
  if (const auto writable = check_trace_file(settings.trace); !settings.trace.empty() && !writable) {
    return refused(writable.error().message, status_of_misuse);
  }
  return PreparedProgram{program, library.value()};
}

Result<void> read_settings(const RunOptions& options, Configuration& configuration) {
  if (auto read = read_environment(configuration); !read) return read;
  if (auto done = set_network(options, configuration); !done) return done;
  for (const std::string& assignment : options.assignments) {
    if (auto set = configuration.set_assignment(assignment, Source::command_line); !set) {
      return Error{"--set: " + set.error().message};
    }
  }
  const auto set = [&](const char* name, const std::string& text) -> Result<void> {
    if (text.empty()) return {};
    return configuration.set(name, text, Source::command_line);
  };
  if (auto done = set("threads_per_rank", options.threads_per_rank); !done) return done;
  if (auto done = set("bind", options.bind); !done) return done;
  if (auto done = set("trace", options.trace); !done) return done;
  if (auto done = set("pthreads", options.pthreads ? "true" : ""); !done) return done;
  if (auto done = set("stats", options.stats ? "true" : ""); !done) return done;
  if (auto done = set("encrypt", options.encrypt ? "true" : ""); !done) return done;
  return set("label_output", options.label_output ? "true" : "");
}

namespace {

// One or several ranks on this host.
int run_here(const RunOptions& options, const config::Settings& settings, const JobProcesses& processes,
             const std::string& program, std::vector<std::string> environment) {
  launch::LaunchPlan plan;
  plan.program = program;
  plan.arguments = options.command;
  plan.environment = std::move(environment);
  plan.ranks = processes.ranks();
  if (!processes.is_native) {
    plan.processors =
        place_on_this_host(settings.bind, plan.ranks, static_cast<std::uint32_t>(settings.threads_per_rank));
  }
  plan.label_output = settings.label_output;
  plan.plain = options.plain || processes.is_native;
  plan.abort_timeout = settings.abort_timeout;
  plan.stall_report = settings.stall_report;
  plan.find_places = &find_places;
  if (!settings.trace.empty()) {
    plan.events_per_thread = settings.trace_events;
    plan.write_trace = [&](auto logs, auto zero_ns) { write_trace_file(settings.trace, logs, zero_ns); };
  }
  auto ended = launch::LocalLauncher::run(std::move(plan));
  if (!ended) return refuse(ended.error().message, status_of_failed_start);
  return ended.value();
}

// One process, here or on the one host of the job.
int run_natively(RunOptions options, const Configuration& configuration, const JobProcesses& processes,
                 const std::string& program) {
  name_idle_settings(configuration);
  const config::Settings& settings = configuration.settings();
  std::vector<std::string> environment = native_environment(processes, settings);
  const std::string& host = processes.hosts.front().name;
  const bool is_here = host.empty() || (options.rsh.empty() && launch::is_this_host(host));
  if (is_here && !settings.label_output)
    return become(program, options.command, environment, status_of_cannot_execute);
  if (is_here) return run_here(options, settings, processes, program, std::move(environment));
  options.plain = true;
  return run_on_hosts(options, settings, processes.hosts, program, std::move(environment));
}

// As ranks of a job.
int run_as_ranks(const RunOptions& options, const Configuration& configuration, const JobProcesses& processes,
                 const std::string& path) {
  const config::Settings& settings = configuration.settings();
  if (settings.near_fabric == "mpi" || (options.on_hosts() && talks_by_mpi(settings))) {
    return refuse(
        "ranks can use MPI only in jobs that an MPI starts; write `mpirun -n 4 musubi exec --set "
        "far_fabric=mpi "
        "program`, or leave out the setting",
        status_of_misuse);
  }
  int status = 0;
  const auto program = prepare(path, options, settings, status);
  if (!program) return status;
  if (options.on_hosts()) {
    return run_on_hosts(options, settings, processes.hosts, program->path,
                        environment_of_ranks(configuration, library_on_hosts(options, program->library),
                                             options.loads_itself));
  }
  return run_here(options, settings, processes, program->path,
                  environment_of_ranks(configuration, program->library, options.loads_itself));
}

}  // namespace

int run(RunOptions options) {
  Configuration configuration;
  if (const auto read = read_settings(options, configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  if (options.print_config) std::fputs(list_settings(configuration).c_str(), stdout);
  const ProgramPath program = options.command.empty() ? ProgramPath{} : find_program(options.command.front());
  const Model model = model_of(options, program.path);
  if (const auto started = by_another_launcher(options, configuration, model)) return *started;
  auto hosts = slots_of_hosts(options);
  if (!hosts) return refuse(hosts.error().message, status_of_misuse);
  const auto processes = processes_of(options, configuration.settings(), model, std::move(hosts).value());
  if (!processes) return refuse(processes.error().message, status_of_misuse);
  if (options.print_config) {
    std::printf("\nThe job: %s\n", description_of(processes.value()).c_str());
    std::fflush(stdout);
    if (options.command.empty()) return 0;
  }
  if (program.path.empty()) return refuse(program.error.message, program.error.exit_status);
  if (processes.value().is_native)
    return run_natively(options, configuration, processes.value(), program.path);
  if (const auto set = set_threads(processes.value(), configuration); !set) {
    return refuse(set.error().message, status_of_misuse);
  }
  options.ranks = processes.value().ranks();
  follow_stack_limit(configuration, options.ranks);
  return run_as_ranks(options, configuration, processes.value(), program.path);
}

int show_settings(bool markdown) {
  if (markdown) {
    std::fputs(config::reference_page().c_str(), stdout);
    return 0;
  }
  Configuration configuration;
  if (const auto read = read_environment(configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  std::fputs(list_settings(configuration).c_str(), stdout);
  return 0;
}

}  // namespace musubi::tools
