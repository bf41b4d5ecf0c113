#include "slurm_command.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "config/environment.h"
#include "launch/pmi/join_launcher.h"
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

// Of the kinds that `musubi exec` speaks; the wire protocol needs no library. Empty: this Slurm has none.
std::string kind_of_exchange(const std::string& srun) {
  const std::string list = " " + output_of({srun, "--mpi=list"}, config::environment_variables(), true) + " ";
  for (const char* kind : {"pmi2", "pmix"}) {
    const std::size_t at = list.find(kind);
    const bool is_word = at != std::string::npos && std::strchr(" \t\n", list[at - 1]) != nullptr;
    if (is_word) return kind;
  }
  return "";
}

std::vector<std::string> srun_command(const RunOptions& options, const std::string& srun,
                                      const std::string& kind) {
  std::error_code ignored;
  // The step shares what an interactive step of this allocation holds; standard input is rank 0's.
  std::vector<std::string> words = {srun, "--overlap", "--export=ALL", "--input=0", "--mpi=" + kind};
  if (options.ranks_given) words.push_back("--ntasks=" + std::to_string(options.ranks));
  // Slurm from 22.05 on no longer takes this over by itself.
  if (const auto processors = number_in("SLURM_CPUS_PER_TASK"))
    words.push_back("--cpus-per-task=" + std::to_string(*processors));
  words.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored).string());
  words.emplace_back("exec");
  for (const std::string& word : options.own_words) {
    if (word != "--print-config") words.push_back(word);  // done by now
  }
  words.emplace_back("--");
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

int become(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  ::execv(arguments[0], arguments.data());
  return refuse("cannot execute " + words[0] + ": " + std::strerror(errno), status_of_failed_start);
}

int run_by_srun(const RunOptions& options, std::uint32_t nodes) {
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
  return become(srun_command(options, srun, kind));
}

}  // namespace

std::optional<int> by_another_launcher(RunOptions& options) {
  if (const auto by = launch::started_by()) {
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
  if (nodes.value_or(1) > 1) return run_by_srun(options, *nodes);
  if (const auto tasks = number_in("SLURM_NTASKS"); tasks && *tasks > 0 && !options.ranks_given)
    options.ranks = *tasks;
  return std::nullopt;
}

}  // namespace musubi::tools
