#include "native_command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "config/environment.h"
#include "config/settings.h"

namespace musubi::tools {
namespace {

void add_unless_given(std::vector<std::string>& environment, const std::string& name,
                      const std::string& value) {
  const bool is_given = std::ranges::any_of(
      environment, [&](const std::string& variable) { return variable.starts_with(name + "="); });
  if (!is_given) environment.push_back(name + "=" + value);
}

}  // namespace

std::vector<std::string> native_environment(const JobProcesses& processes, const config::Settings& settings) {
  std::vector<std::string> environment = config::environment_variables();
  if (!processes.chooses_threads) {
    const std::uint32_t threads = launch::threads_of(processes.hosts).front();
    add_unless_given(environment, "OMP_NUM_THREADS", std::to_string(threads));
  }
  if (settings.bind == "core") {
    add_unless_given(environment, "OMP_PLACES", "cores");
    add_unless_given(environment, "OMP_PROC_BIND", "close");
  }
  return environment;
}

void name_idle_settings(const config::Configuration& configuration) {
  constexpr std::array<std::string_view, 6> used = {"threads_per_rank", "ranks_per_host", "coherence", "bind",
                                                    "label_output",     "pthreads"};
  std::string idle;
  const auto declarations = config::declarations();
  for (std::size_t i = 0; i < declarations.size(); ++i) {
    const std::string_view name = declarations[i].name;
    if (configuration.source(i) != config::Source::command_line || std::ranges::count(used, name) != 0)
      continue;
    idle += (idle.empty() ? "" : ", ") + std::string(name);
  }
  if (idle.empty()) return;
  std::fprintf(stderr,
               "musubi: on one host the program is one process, which has no use for %s; coherence=protocol "
               "gives ranks memories of their own\n",
               idle.c_str());
}

}  // namespace musubi::tools
