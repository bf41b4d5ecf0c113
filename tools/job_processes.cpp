#include "job_processes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "elf_file.h"
#include "runtime/job/one_memory.h"

namespace musubi::tools {
namespace {

std::string counted(std::uint32_t count, const char* thing, const char* things) {
  return std::to_string(count) + " " + (count == 1 ? thing : things);
}

// Result: nothing if each slot gets a process.
std::optional<std::uint32_t> processes_per_host(const config::Settings& settings, bool asks_for_protocol,
                                                std::size_t hosts) {
  if (settings.ranks_per_host) return static_cast<std::uint32_t>(*settings.ranks_per_host);
  if (settings.coherence == "protocol") return std::nullopt;
  // On one host a protocol has work only between several processes.
  if (asks_for_protocol && hosts == 1) return std::nullopt;
  return 1;
}

// "4 threads", "4 threads each", or "threads: 2 with 4, 1 with 2".
std::string threads_in_words(const std::vector<std::uint32_t>& threads) {
  if (std::ranges::count(threads, threads.front()) == static_cast<std::ptrdiff_t>(threads.size())) {
    return counted(threads.front(), "thread", "threads") + (threads.size() > 1 ? " each" : "");
  }
  std::map<std::uint32_t, std::uint32_t, std::greater<>> processes_with;
  for (const std::uint32_t count : threads) ++processes_with[count];
  std::string words;
  for (const auto& [count, processes] : processes_with) {
    if (!words.empty()) words += ", ";
    words += std::to_string(processes) + " with " + std::to_string(count);
  }
  return "threads: " + words;
}

}  // namespace

bool asks_for_protocol(const RunOptions& options, const config::Settings& settings) {
  return settings.coherence == "protocol" || options.preload || settings.stats || !settings.trace.empty() ||
         !runtime::reason_for_protocol(settings).empty();
}

Model model_of(const RunOptions& options, const std::string& program) {
  if (options.plain || options.loads_itself) return Model::processes;
  const auto file = read_elf_file(program);
  if (!file) return Model::threads;
  const bool is_linked = std::ranges::any_of(file.value().needed, [](const std::string& name) {
    return name.starts_with("libmusubi") && !name.starts_with("libmusubi-omp");
  });
  return is_linked ? Model::processes : Model::threads;
}

Result<JobProcesses> processes_of(const RunOptions& options, const config::Settings& settings, Model model,
                                  std::vector<launch::HostSlots> hosts) {
  std::optional<std::uint32_t> slots;
  if (options.ranks_given) slots = options.ranks;
  if (hosts.empty()) hosts = {{"", options.ranks}};
  const bool asks = asks_for_protocol(options, settings);
  launch::ProcessRule rule;
  rule.threads_per_slot = static_cast<std::uint32_t>(settings.threads_per_rank);
  if (model == Model::threads) rule.per_host = processes_per_host(settings, asks, hosts.size());
  auto placed = launch::place_on_hosts(hosts, slots, rule);
  if (!placed) return placed.error();
  JobProcesses processes;
  processes.hosts = std::move(placed).value();
  processes.is_native = model == Model::threads && !asks && processes.ranks() == 1;
  processes.chooses_threads = processes.is_native && !options.ranks_given && !options.on_hosts() &&
                              options.threads_per_rank.empty() && settings.threads_per_rank == 1 &&
                              options.ranks == 1;
  if (settings.coherence == "processor" && model == Model::threads && !processes.is_native) {
    return Error{"coherence=processor is impossible: this job has " + std::to_string(processes.ranks()) +
                 " processes with memories of their own; leave it out, or ask for one process on one host"};
  }
  return processes;
}

std::string description_of(const JobProcesses& processes) {
  if (processes.chooses_threads) return "one native process, with as many threads as the program chooses";
  const std::vector<std::uint32_t> threads = launch::threads_of(processes.hosts);
  if (processes.is_native) return "one native process with " + threads_in_words(threads);
  std::string words =
      counted(processes.ranks(), "process", "processes") + " with " + threads_in_words(threads);
  if (processes.hosts.size() > 1) words += ", on " + std::to_string(processes.hosts.size()) + " hosts";
  return words;
}

std::string text_of(const std::vector<std::uint32_t>& threads) {
  std::string text;
  for (const std::uint32_t count : threads) text += (text.empty() ? "" : ":") + std::to_string(count);
  return text;
}

Result<void> set_threads(const JobProcesses& processes, config::Configuration& configuration) {
  const std::vector<std::uint32_t> threads = launch::threads_of(processes.hosts);
  const std::uint32_t most = std::ranges::max(threads);
  const auto set = [&](const char* name, const std::string& text) {
    return configuration.set(name, text, config::Source::command_line);
  };
  if (auto done = set("threads_per_rank", std::to_string(most)); !done) return done;
  if (std::ranges::min(threads) == most) return {};
  return set("threads_of_ranks", text_of(threads));
}

}  // namespace musubi::tools
