#include "doctor_hosts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "doctor_command.h"
#include "hosts_command.h"
#include "job_processes.h"
#include "launch/hosts/launcher/hosts_launcher.h"
#include "launch/hosts/launcher/refusals.h"
#include "network/measured.h"
#include "os/memory.h"
#include "program_file.h"
#include "refusal.h"

namespace musubi::tools {
namespace {

using Json = nlohmann::json;
using Hosts = std::vector<launch::HostExamination>;

struct Report {
  Hosts hosts;
  std::vector<std::string> problems;  // that concern more than one host
  std::string not_measured;           // the reason; empty: the network was measured
  network::Measured network;
};

std::string value_of(const launch::HostExamination& host, const std::string& subject) {
  const auto found = std::ranges::find(host.facts, subject, &launch::Fact::subject);
  return found == host.facts.end() ? "-" : found->value;
}

bool is_usable(const launch::HostExamination& host) {
  return host.refusal.empty() && value_of(host, "job") == "can run";
}

bool can_run(const Report& report) {
  return report.problems.empty() && std::ranges::all_of(report.hosts, is_usable);
}

using Table = std::vector<std::vector<std::string>>;

void print_table(const Table& rows) {
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      line += row[column] + std::string(width - row[column].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string in_figures(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", value < 10 ? 1 : 0, value, unit);
  return text;
}

void print_hosts(const Hosts& hosts) {
  constexpr const char* columns[] = {"Musubi",    "kernel", "glibc",  "cores",      "memory free",
                                     "of group",  "page",   "locked", "open files", "userfaultfd",
                                     "libfabric", "RMA",    "job"};
  Table rows = {{"host", "ranks", "answer"}};
  rows[0].insert(rows[0].end(), std::begin(columns), std::end(columns));
  for (const launch::HostExamination& host : hosts) {
    const double ms = static_cast<double>(host.answer_ns) * 1e-6;
    rows.push_back({host.host.name, std::to_string(host.host.ranks.count),
                    host.answer_ns == 0 ? "-" : in_figures(ms, "ms")});
    for (const char* column : columns) rows.back().push_back(value_of(host, column));
  }
  print_table(rows);
}

void print_network(const Report& report) {
  if (!report.not_measured.empty()) {
    std::printf("The network was not measured: %s\n", report.not_measured.c_str());
    return;
  }
  std::printf("\nNetwork, by far_fabric=%s: round trip of 8 bytes, and large gets\n",
              report.network.fabric.c_str());
  Table rows = {{"by", "from", "asleep", "awake", "bandwidth"}};
  for (const network::MeasuredPair& pair : report.network.pairs) {
    rows.push_back({pair.by, pair.from, in_figures(static_cast<double>(pair.asleep_ns) * 1e-3, "us"),
                    in_figures(static_cast<double>(pair.awake_ns) * 1e-3, "us"),
                    in_figures(static_cast<double>(pair.bits_per_second) * 1e-9, "Gbps")});
  }
  print_table(rows);
}

// A finding of several hosts is printed once.
void print_notes(const Hosts& hosts) {
  std::vector<std::pair<std::string, std::string>> notes;  // with the hosts that report them
  for (const launch::HostExamination& host : hosts) {
    for (const launch::Fact& fact : host.facts) {
      if (fact.subject != doctor_note) continue;
      const std::string note = fact.value + "; " + fact.remedy;
      const auto same = std::ranges::find(notes, note, &std::pair<std::string, std::string>::first);
      if (same == notes.end()) {
        notes.emplace_back(note, host.host.name);
      } else {
        same->second += ", " + host.host.name;
      }
    }
  }
  for (const auto& [note, names] : notes) std::printf("%s: %s\n", names.c_str(), note.c_str());
}

void print_text(const Report& report) {
  print_hosts(report.hosts);
  for (const launch::HostExamination& host : report.hosts) {
    if (!host.refusal.empty()) std::printf("problem: %s\n", host.refusal.c_str());
  }
  print_notes(report.hosts);
  for (const std::string& problem : report.problems) std::printf("problem: %s\n", problem.c_str());
  print_network(report);
}

Json json_of(const launch::HostExamination& host) {
  Json facts = Json::object(), notes = Json::array();
  for (const launch::Fact& fact : host.facts) {
    if (fact.subject == doctor_note) {
      notes.push_back({{"fact", fact.value}, {"remedy", fact.remedy}});
    } else {
      facts[fact.subject] = fact.value;
    }
  }
  return {{"name", host.host.name},
          {"ranks", host.host.ranks.count},
          {"reachable", host.answer_ns != 0},
          {"answer_ns", host.answer_ns},
          {"refusal", host.refusal},
          {"facts", facts},
          {"notes", notes}};
}

std::string as_json(const Report& report) {
  Json json = {{"can_run", can_run(report)}, {"hosts", Json::array()}, {"problems", report.problems}};
  for (const launch::HostExamination& host : report.hosts) json["hosts"].push_back(json_of(host));
  if (report.not_measured.empty()) {
    json["network"] = Json::parse(network::as_json(report.network));
  } else {
    json["not_measured"] = report.not_measured;
  }
  return json.dump(2) + "\n";
}

// Redirects standard output into a file in memory during its lifetime. Standard input is empty.
class TakenOutput {
 public:
  TakenOutput() : file_(::memfd_create("musubi-measured", MFD_CLOEXEC)) {
    const os::FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(nothing.number(), STDIN_FILENO);
    std::fflush(stdout);
    ::dup2(file_.number(), STDOUT_FILENO);
  }
  ~TakenOutput() { ::dup2(before_.number(), STDOUT_FILENO); }
  TakenOutput(const TakenOutput&) = delete;

  std::string text() const {
    std::string all;
    char bytes[4096];
    for (ssize_t count = 0;
         (count = ::pread(file_.number(), bytes, sizeof bytes, static_cast<off_t>(all.size()))) > 0;) {
      all.append(bytes, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  const os::FileDescriptor before_{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
  const os::FileDescriptor file_;
};

// A job of one rank on each usable host, whose program is this command itself.
Result<network::Measured> measure_between(std::vector<std::string> names, const RunOptions& options,
                                          const config::Configuration& configuration) {
  std::vector<launch::HostRanks> hosts;
  for (const std::string& name : names)
    hosts.push_back({name, {static_cast<std::uint32_t>(hosts.size()), 1}, {1}});
  auto plan = plan_of(std::move(hosts), options, configuration.settings());
  if (!plan) return plan.error();
  plan.value().stall_report = {};
  plan.value().order.events_per_thread = 0;
  RunOptions measuring = options;
  measuring.command = {"musubi", "measure"};
  add_program(plan.value(), measuring, plan.value().musubi_path,
              environment_of_ranks(configuration, "", false));
  std::string text;
  int status = 0;
  {
    const TakenOutput output;
    auto ended = launch::HostsLauncher::run(std::move(plan).value());
    if (!ended) return ended.error();
    status = ended.value();
    text = output.text();
  }
  if (status != 0) return Error{"the job that measures it has failed; its messages are above"};
  auto measured = network::parse(text);
  if (!measured) return measured.error();
  for (network::MeasuredPair& pair : measured.value().pairs) {
    pair.by = names.at(std::stoul(pair.by));
    pair.from = names.at(std::stoul(pair.from));
  }
  return measured;
}

void measure_network(Report& report, const RunOptions& options, const config::Configuration& configuration) {
  std::vector<std::string> names;
  for (const launch::HostExamination& host : report.hosts) {
    if (host.refusal.empty()) names.push_back(host.host.name);
  }
  if (names.size() < 2) {
    report.not_measured = "that takes two hosts that can be used";
    return;
  }
  auto measured = measure_between(std::move(names), options, configuration);
  if (measured) {
    report.network = std::move(measured).value();
  } else {
    report.not_measured = measured.error().message;
    report.problems.push_back("a job over these hosts does not start: " + report.not_measured);
  }
}

std::vector<std::string> differences_of(const Hosts& hosts) {
  std::vector<launch::HostFacts> facts;
  for (const launch::HostExamination& host : hosts) {
    launch::HostFacts common{host.host.name, {}};
    for (const launch::Fact& fact : host.facts) {
      if (fact.subject != doctor_note && !fact.remedy.empty()) common.facts.push_back(fact);
    }
    if (!common.facts.empty()) facts.push_back(std::move(common));
  }
  return launch::differences(facts);
}

Result<void> save(const std::string& path, const std::string& json) {
  std::ofstream file(path);
  if (file << json && file.flush()) return {};
  return Error{"cannot write " + path + ": " + std::strerror(errno) + "; name another file by --save"};
}

}  // namespace

int examine_hosts(const RunOptions& options, const HostsQuestion& question) {
  config::Configuration configuration;
  if (const auto read = read_settings(options, configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  auto slots = slots_of_hosts(options);
  if (!slots) return refuse(slots.error().message, status_of_misuse);
  auto processes = processes_of(options, configuration.settings(), Model::threads, std::move(slots).value());
  if (!processes) return refuse(processes.error().message, status_of_misuse);
  auto plan = plan_of(std::move(processes.value().hosts), options, configuration.settings());
  if (!plan) return refuse(plan.error().message, status_of_misuse);
  if (!question.program.empty()) {
    const ProgramPath program = find_program(question.program);
    if (program.path.empty()) return refuse(program.error.message, program.error.exit_status);
    add_program(plan.value(), options, program.path, environment_of_ranks(configuration, "", false));
  }
  auto hosts = launch::HostsLauncher::examine(std::move(plan).value());
  if (!hosts) return refuse(hosts.error().message, 1);
  Report report;
  report.hosts = std::move(hosts).value();
  report.problems = differences_of(report.hosts);
  measure_network(report, options, configuration);
  if (question.json) {
    std::fputs(as_json(report).c_str(), stdout);
  } else {
    print_text(report);
  }
  if (!question.save.empty()) {
    if (const auto saved = save(question.save, as_json(report)); !saved)
      return refuse(saved.error().message, 1);
  }
  return can_run(report) ? 0 : 1;
}

}  // namespace musubi::tools
