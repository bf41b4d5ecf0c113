// The command `musubi`.
#include <pthread.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/local/invitation.h"
#include "check_command.h"
#include "doctor_command.h"
#include "doctor_hosts.h"
#include "exec_command.h"
#include "measure_command.h"
#include "os/own_files.h"
#include "program_atomics.h"
#include "proxy_command.h"
#include "run_command.h"

namespace {

using musubi::tools::RunOptions;

constexpr const char* run_footer =
    "Options after the program's name belong to the program.\n"
    "Exit status: the program's; 128+n if a rank died of signal n; 74 if output was lost; 2 for a wrong\n"
    "command line or setting; 125 if the ranks cannot be started; 126 or 127 if the program cannot be\n"
    "executed or is not found.";

// CLI11 does not know about the program that follows the options.
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* command, std::string) const override {
    return "Usage: musubi " + command->get_name() + " [OPTIONS] program [arguments...]\n";
  }
};

std::string check_ranks(const std::string& text) {
  std::uint32_t ranks = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  const bool whole = failure == std::errc{} && rest == text.data() + text.size();
  if (whole && ranks >= 1 && ranks <= musubi::bootstrap::local::ranks_max) return {};
  return "the number of ranks must be from 1 to " + std::to_string(musubi::bootstrap::local::ranks_max);
}

// An empty value mostly comes from a script's variable that was never set.
std::string check_given(const std::string& text) {
  return text.empty() ? "its value is empty; give one, or leave the option out" : "";
}

// The options for the size of a job.
void declare_size(CLI::App& command, RunOptions& options) {
  command
      .add_option("-n,--ranks", options.ranks,
                  "Number of slots, 1 to 4096: threads of one process per host; for programs with musubi.h, "
                  "processes")
      ->type_name("COUNT")
      ->check(CLI::Validator(check_ranks, ""));
  command.add_option("-t,--threads", options.threads_per_rank, "OpenMP threads of each slot")
      ->type_name("COUNT");
  command.add_option("--set", options.assignments, "Set a setting; `musubi settings` lists them")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

// Applied to all options whose value is text.
void refuse_empty_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_expected_min() > 0) option->check(CLI::Validator(check_given, ""));
  }
}

// The options for the place where a job runs.
void declare_hosts(CLI::App& command, RunOptions& options) {
  command.add_option("--hosts", options.hosts, "Hosts and their numbers of slots: h1:2,h2:2")
      ->type_name("LIST");
  command.add_option("--hostfile", options.host_file, "File with one host per line: h1:2, or h1 slots=2")
      ->type_name("FILE");
  command.add_option("--rsh", options.rsh, "Command that runs a command line on a host (default: ssh)")
      ->type_name("COMMAND");
  command.add_option("--remote-path", options.remote_path, "Path of musubi on the hosts (default: as here)")
      ->type_name("PATH");
}

// The options for the behaviour of a job, wherever it runs.
void declare_job(CLI::App& run, RunOptions& options) {
  run.add_flag(
      "--pthreads", options.pthreads,
      "Spread the threads that the program makes itself (pthread_create, std::thread) over all ranks");
  run.add_flag("--stats", options.stats, "Print the counters of the job when it ends");
  run.add_option("--trace", options.trace, "Write a trace of all threads for ui.perfetto.dev")
      ->type_name("FILE");
  run.add_option("--network", options.network_file,
                 "Fit transfers to the network that `musubi doctor --hosts ... --save FILE` has measured")
      ->type_name("FILE");
  run.add_flag("--encrypt", options.encrypt, "Encrypt all messages between ranks of different hosts");
  run.add_flag("--label-output", options.label_output, "Print the rank before each line of output");
  auto* preload = run.add_flag("--preload", options.preload,
                               "Load Musubi's OpenMP runtime even if the program has another one");
  auto* plain = run.add_flag("--plain", options.plain, "Start any program without Musubi's libraries");
  plain->excludes(preload);
  run.add_flag("--explicit", options.loads_itself,
               "The program loads libmusubi itself while it runs, as Python's module does")
      ->excludes(preload)
      ->excludes(plain);
  run.formatter(std::make_shared<RunFormatter>());
}

void declare_run(CLI::App& run, RunOptions& options) {
  declare_size(run, options);
  declare_hosts(run, options);
  declare_job(run, options);
  run.add_flag("--print-config", options.print_config,
               "Print every setting with its value and source, and the shape of the job");
  run.add_option("--bind", options.bind, "Pin ranks to cores: auto, none or core")->type_name("HOW");
  run.footer(run_footer);
  refuse_empty_values(run);
}

void declare_exec(CLI::App& exec, RunOptions& options) {
  declare_size(exec, options);
  exec.get_option("--ranks")->description("Number of ranks that the launcher must have started");
  declare_job(exec, options);
  refuse_empty_values(exec);
  exec.footer(
      "Runs one process of a job, for launchers with PMIx or PMI-1: `mpirun -n 4 musubi exec program`,\n"
      "`srun --mpi=pmi2 -n 4 musubi exec program`. Exit status: the job's on rank 0, otherwise 0.");
}

void declare_doctor(CLI::App& doctor, RunOptions& options, musubi::tools::HostsQuestion& question) {
  declare_size(doctor, options);
  doctor
      .add_option("program", question.program,
                  "Examine the atomics of this program instead of the machine; with hosts: compare it on all")
      ->type_name("FILE");
  declare_hosts(doctor, options);
  doctor.add_flag("--json", question.json, "Print one JSON object");
  doctor
      .add_option("--save", question.save,
                  "With hosts: write the JSON object to a file, for `musubi run --network FILE`")
      ->type_name("FILE");
  refuse_empty_values(doctor);
  doctor.footer(
      "Exit status: 0 if such a job can run here, 1 if not, 2 for a wrong command line or setting.");
}

struct CheckQuestion {
  std::string program;
  bool json = false;
};

void declare_check(CLI::App& check, CheckQuestion& question) {
  check.add_option("program", question.program, "Program, script or library")->type_name("FILE")->required();
  check.add_flag("--json", question.json, "Print one JSON object");
  refuse_empty_values(check);
  check.footer(
      "Exit status: 0 if `musubi run` would start it over several hosts, 1 if it would refuse it, 2 for a\n"
      "wrong command line or setting, 126 or 127 if the program cannot be executed or is not found.");
}

int misuse(const std::string& message) {
  std::fprintf(stderr, "musubi: %s; see `musubi --help`\n", message.c_str());
  return musubi::tools::status_of_misuse;
}

// Cuts the program and its arguments off the command line of `run`: they begin at the first word that is
// neither an option of `run` nor the value of one, or after `--`.
std::vector<std::string> cut_off_command(const CLI::App& run, std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at] != "--" && words[at].size() > 1 && words[at][0] == '-') {
    const bool is_long = words[at][1] == '-';
    const std::size_t equals = words[at].find('=');
    const std::string name = is_long ? words[at].substr(0, equals) : words[at].substr(0, 2);
    const bool value_attached = is_long ? equals != std::string::npos : words[at].size() > 2;
    const CLI::Option* option = run.get_option_no_throw(name);
    at += option != nullptr && option->get_expected_min() > 0 && !value_attached ? 2 : 1;
  }
  at = std::min(at, words.size());
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(at);
  std::vector<std::string> command(end, words.end());
  words.erase(end, words.end());
  if (!command.empty() && command.front() == "--") command.erase(command.begin());
  return command;
}

// The limit on the stack is for the program: a limit too large for a thread must not end this command.
void keep_own_stacks_small() {
  constexpr std::size_t stack_bytes = std::size_t{8} << 20;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int argc, char** argv) {
  musubi::os::open_missing_standard_files();
  keep_own_stacks_small();
  CLI::App app("Runs OpenMP programs over the memories of several hosts.", "musubi");
  app.set_version_flag("--version", "musubi " MUSUBI_VERSION);
  app.require_subcommand(1);
  RunOptions options;
  CLI::App* run = app.add_subcommand("run", "Run a program on this host, or as one job over several");
  declare_run(*run, options);
  CLI::App* exec =
      app.add_subcommand("exec", "Run a program as one rank of a job that mpirun or srun starts");
  declare_exec(*exec, options);
  bool markdown = false;
  CLI::App* settings = app.add_subcommand("settings", "List all settings with their values and sources");
  settings->add_flag("--markdown", markdown, "Print the reference page instead");
  musubi::tools::HostsQuestion question;
  RunOptions asked;
  asked.ranks = 2;
  CLI::App* doctor = app.add_subcommand("doctor", "Examine this machine: whether jobs can run, and how well");
  declare_doctor(*doctor, asked, question);
  CheckQuestion asked_of_program;
  CLI::App* check = app.add_subcommand("check", "Say what a job over several hosts serves of a program");
  declare_check(*check, asked_of_program);
  std::vector<std::string> words(argv + 1, argv + argc);
  for (const CLI::App* command : {run, exec}) {
    if (words.empty() || words.front() != command->get_name()) continue;
    words.erase(words.begin());
    options.command = cut_off_command(*command, words);
    options.own_words = words;
    words.insert(words.begin(), command->get_name());
    break;
  }
  if (!words.empty() && words.front() == "proxy") return musubi::tools::serve_as_proxy();
  if (!words.empty() && words.front() == "measure") return musubi::tools::measure();
  const bool known = words.empty() || words.front()[0] == '-' || words.front() == run->get_name() ||
                     words.front() == exec->get_name() || words.front() == settings->get_name() ||
                     words.front() == doctor->get_name() || words.front() == check->get_name();
  if (!known) return misuse("unknown command " + words.front());
  std::reverse(words.begin(), words.end());  // in the order that CLI11 expects
  try {
    app.parse(words);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return misuse(error.what());
  }
  options.ranks_given = (*exec ? exec : run)->count("--ranks") > 0;
  if (*settings) return musubi::tools::show_settings(markdown);
  if (*check) return musubi::tools::check_program(asked_of_program.program, asked_of_program.json);
  asked.ranks_given = doctor->count("--ranks") > 0;
  if (*doctor && asked.on_hosts()) return musubi::tools::examine_hosts(asked, question);
  if (!question.save.empty()) return misuse("--save is for doctor --hosts");
  if (*doctor && !question.program.empty()) {
    return musubi::tools::examine_program(question.program, question.json);
  }
  if (*doctor) return musubi::tools::examine_machine(asked, question.json);
  if (options.command.empty() && !options.print_config) return misuse("no program to run");
  return *exec ? musubi::tools::exec(options) : musubi::tools::run(options);
}
