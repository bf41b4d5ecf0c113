#include "slurm_command.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "become.h"
#include "config/environment.h"
#include "launch/pmi/key_values.h"
#include "output_of.h"
#include "program_file.h"
#include "refusal.h"

namespace musubi::tools {
namespace {

std::optional<std::uint32_t> number_in(const char* variable) {
  const std::string text = config::environment_variable(variable).value_or("");
  std::uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

// A type of PMI that `musubi exec` speaks; the wire protocol needs no library. Empty: this Slurm has none.
std::string kind_of_exchange(const std::string& srun) {
  const std::string list = " " + output_of({srun, "--mpi=list"}, config::environment_variables(), true) + " ";
  for (const char* kind : {"pmi2", "pmix"}) {
    const std::size_t at = list.find(kind);
    const bool is_word = at != std::string::npos && std::strchr(" \t\n", list[at - 1]) != nullptr;
    if (is_word) return kind;
  }
  return "";
}

// Slots of each node, in the order of the nodes, as in `2(x3),1`. One each if Slurm does not say.
std::vector<launch::HostSlots> tasks_of_nodes(std::uint32_t nodes) {
  std::vector<launch::HostSlots> slots;
  std::istringstream groups(config::environment_variable("SLURM_TASKS_PER_NODE").value_or(""));
  for (std::string group; std::getline(groups, group, ',');) {
    std::istringstream text(group);
    std::uint32_t tasks = 0, times = 1;
    text >> tasks;
    text.ignore(group.size(), 'x');
    text >> times;
    if (tasks == 0) break;
    for (std::uint32_t i = 0; i < std::max(times, 1U) && slots.size() < nodes; ++i)
      slots.push_back({"", tasks});
  }
  slots.resize(nodes);
  return slots;
}

std::size_t slots_in(const std::vector<launch::HostSlots>& nodes) {
  std::size_t all = 0;
  for (const launch::HostSlots& node : nodes) all += node.slots;
  return all;
}

// Distributes the slots over the nodes as evenly as possible.
std::vector<launch::HostSlots> spread(std::uint32_t slots, std::uint32_t nodes) {
  std::vector<launch::HostSlots> all;
  for (std::uint32_t i = 0; i < std::min(slots, nodes); ++i)
    all.push_back({"", slots / nodes + (i < slots % nodes ? 1 : 0)});
  return all;
}

// The words without an option and its value, in any of its forms.
void drop_option(std::vector<std::string>& words, const std::string& brief, const std::string& name) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == brief || words[i] == name) {
      ++i;
    } else if (!words[i].starts_with(name + "=") &&
               (words[i].starts_with("--") || !words[i].starts_with(brief))) {
      kept.push_back(words[i]);
    }
  }
  words = std::move(kept);
}

using Words = std::vector<std::string>;

// A process for each slot, if Slurm has distributed them.
Words size_by_slots(const RunOptions& options) {
  Words words;
  if (options.ranks_given) words.push_back("--ntasks=" + std::to_string(options.ranks));
  // Slurm no longer inherits this by itself, from 22.05 on.
  if (const auto processors = number_in("SLURM_CPUS_PER_TASK"))
    words.push_back("--cpus-per-task=" + std::to_string(*processors));
  return words;
}

// A process for each node, or a few: each may use the processors of all the node's tasks.
Words size_by_nodes(const RunOptions& options, const JobProcesses& processes,
                    const std::vector<launch::HostSlots>& slots) {
  const std::uint32_t on_first = processes.hosts.front().ranks.count;
  const bool is_even = std::ranges::all_of(
      slots, [&](const launch::HostSlots& node) { return node.slots == slots.front().slots; });
  const std::uint32_t processors = slots.front().slots * number_in("SLURM_CPUS_PER_TASK").value_or(1);
  const bool has_known_share = is_even && on_first == 1 && !options.ranks_given;
  return {"--nodes=" + std::to_string(processes.hosts.size()),
          "--ntasks=" + std::to_string(processes.ranks()), "--ntasks-per-node=" + std::to_string(on_first),
          has_known_share ? "--cpus-per-task=" + std::to_string(processors) : "--cpu-bind=none"};
}

// The options of `musubi exec`: those of this command, and for a program of threads the number for each
// process.
Words options_of_exec(const RunOptions& options, Model model, const JobProcesses& processes) {
  Words words = options.own_words;
  std::erase(words, "--print-config");  // already done
  if (model == Model::processes) return words;
  drop_option(words, "-n", "--ranks");
  drop_option(words, "-t", "--threads");
  const std::vector<std::uint32_t> threads = launch::threads_of(processes.hosts);
  words.insert(words.end(), {"-t", std::to_string(std::ranges::max(threads))});
  if (std::ranges::min(threads) != std::ranges::max(threads))
    words.insert(words.end(), {"--set", "threads_of_ranks=" + text_of(threads)});
  return words;
}

Words srun_command(const RunOptions& options, const std::string& srun, const std::string& kind,
                   const Words& size, const Words& options_of_process) {
  std::error_code ignored;
  // The step shares the resources that an interactive step of this allocation holds; standard input is rank
  // 0's.
  Words words = {srun, "--overlap", "--export=ALL", "--input=0", "--mpi=" + kind};
  words.insert(words.end(), size.begin(), size.end());
  words.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored).string());
  words.emplace_back("exec");
  words.insert(words.end(), options_of_process.begin(), options_of_process.end());
  words.emplace_back("--");
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

// Threads of a slot: the user's number, or else the processors of a task.
Result<void> take_threads(config::Configuration& configuration) {
  const auto processors = number_in("SLURM_CPUS_PER_TASK");
  if (!processors) return {};
  return configuration.set_unless_given("threads_per_rank", std::to_string(*processors));
}

int run_by_srun(const RunOptions& options, config::Configuration& configuration, Model model,
                std::uint32_t nodes) {
  const std::string elsewhere = "; name the hosts instead: --hosts $(scontrol show hostnames | paste -sd,)";
  if (!options.bind.empty()) {
    return refuse("Slurm pins the ranks of its " + std::to_string(nodes) +
                      " nodes; leave --bind out, and use `salloc --cpus-per-task` or SLURM_CPU_BIND",
                  status_of_misuse);
  }
  const std::string srun = find_program("srun").path;
  if (srun.empty()) {
    return refuse("this is an allocation of Slurm with " + std::to_string(nodes) +
                      " nodes, and there is no srun in PATH" + elsewhere,
                  status_of_failed_start);
  }
  const std::string kind = kind_of_exchange(srun);
  if (kind.empty()) {
    return refuse(
        "this Slurm has neither of the plugins pmi2 and pmix, by which ranks find each other" + elsewhere,
        status_of_failed_start);
  }
  const auto slots = options.ranks_given ? spread(options.ranks, nodes) : tasks_of_nodes(nodes);
  const auto processes = processes_of(options, configuration.settings(), model, slots);
  if (!processes) return refuse(processes.error().message, status_of_misuse);
  if (options.print_config) std::printf("\nThe job: %s\n", description_of(processes.value()).c_str());
  if (options.command.empty()) return 0;
  const bool by_slots = processes.value().ranks() == slots_in(slots);
  const Words size = by_slots ? size_by_slots(options) : size_by_nodes(options, processes.value(), slots);
  return become(srun,
                srun_command(options, srun, kind, size, options_of_exec(options, model, processes.value())),
                config::environment_variables(), status_of_failed_start);
}

}  // namespace

std::optional<int> by_another_launcher(RunOptions& options, config::Configuration& configuration,
                                       Model model) {
  if (const auto by = launch::started_by(); by && by->ranks > 1) {
    if (by->rank != 0) return status_of_misuse;
    const std::string copies = std::to_string(by->ranks);
    return refuse(std::string(by->launcher) + " has started " + copies +
                      " copies of `musubi run`, which would be " + copies +
                      " jobs; write `musubi exec` instead, without -n",
                  status_of_misuse);
  }
  if (options.on_hosts() || !config::environment_variable("SLURM_JOB_ID")) return std::nullopt;
  auto nodes = number_in("SLURM_JOB_NUM_NODES");
  if (!nodes) nodes = number_in("SLURM_NNODES");
  if (model == Model::threads) {
    if (const auto taken = take_threads(configuration); !taken)
      return refuse(taken.error().message, status_of_misuse);
  }
  if (nodes.value_or(1) > 1) return run_by_srun(options, configuration, model, *nodes);
  if (const auto tasks = number_in("SLURM_NTASKS"); tasks && *tasks > 0 && !options.ranks_given)
    options.ranks = *tasks;
  return std::nullopt;
}

}  // namespace musubi::tools
