#include "doctor_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "doctor/report.h"
#include "fabric/ofi/ofi.h"
#include "host_facts.h"
#include "hosts_command.h"
#include "launch/hosts/hosts_launcher.h"
#include "os/cpu.h"
#include "program_file.h"
#include "runtime/address_plan.h"
#include "runtime/reservation.h"
#include "topology.h"

namespace musubi::tools {
namespace {

int refuse(const std::string& message, int status) {
  std::fprintf(stderr, "musubi: %s\n", message.c_str());
  return status;
}

void add_processors(doctor::Facts& facts) {
  const std::vector<Core> cores = allowed_cores();
  std::set<std::uint32_t> nodes;
  for (const Core& core : cores) {
    nodes.insert(core.node);
    facts.processors += static_cast<std::uint32_t>(core.processors.size());
  }
  facts.cores = static_cast<std::uint32_t>(cores.size());
  facts.nodes = static_cast<std::uint32_t>(nodes.size());
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  facts.machine_processors = std::max(facts.processors, static_cast<std::uint32_t>(std::max(online, 1L)));
}

}  // namespace

namespace {

Result<doctor::Job> job_of(const config::Settings& settings, std::uint32_t ranks) {
  auto plan = runtime::AddressPlan::make(settings, runtime::Mappers::on_one_host(ranks), {});
  if (!plan) return plan.error();
  const runtime::Reservation reservation = runtime::reservation_of(plan.value());
  doctor::Job job;
  job.ranks = ranks;
  job.threads_per_rank = static_cast<std::uint32_t>(settings.threads_per_rank);
  job.mapped_bytes = reservation.mapped_bytes;
  job.table_bytes = reservation.table_bytes;
  job.file_bytes = reservation.file_bytes;
  job.vm_driver = settings.vm_driver;
  return job;
}

doctor::Facts facts_of_this_host() {
  doctor::Facts facts = doctor::gather();
  add_processors(facts);
  if (auto found = fabric::ofi_on_this_host()) {
    facts.libfabric_version = found.value().version;
    facts.libfabric_providers = found.value().providers;
  }
  auto library = find_preloaded_library();
  if (library) {
    facts.library = library.value();
  } else {
    facts.library_error = library.error().message;
  }
  return facts;
}

// The columns of the table, and what is told below it: of each fact, its name.
constexpr const char* columns[] = {"Musubi", "kernel", "glibc", "cores", "memory free", "open files", "job"};
constexpr const char* note = "note";

std::string value_of(const launch::HostExamination& host, const std::string& subject) {
  const auto found = std::ranges::find(host.facts, subject, &launch::Fact::subject);
  return found == host.facts.end() ? "-" : found->value;
}

void print_table(const std::vector<launch::HostExamination>& hosts) {
  std::vector<std::vector<std::string>> rows = {{"host", "ranks", "answer"}};
  rows[0].insert(rows[0].end(), std::begin(columns), std::end(columns));
  for (const launch::HostExamination& host : hosts) {
    char time[32] = "-";
    if (host.answer_ns != 0) {
      std::snprintf(time, sizeof time, "%.0f ms", static_cast<double>(host.answer_ns) * 1e-6);
    }
    rows.push_back({host.host.name, std::to_string(host.host.ranks.count), time});
    for (const char* column : columns) rows.back().push_back(value_of(host, column));
  }
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

}  // namespace

Result<std::vector<launch::Fact>> examination_of_this_host(const launch::JobOrder& order) {
  config::Configuration configuration;
  if (auto read = read_settings({}, configuration); !read) return read.error();
  auto job = job_of(configuration.settings(), order.ranks);
  if (!job) return job.error();
  job.value().ranks = order.here.count;
  job.value().threads_per_rank = order.threads_per_rank;
  const doctor::Facts facts = facts_of_this_host();
  const auto findings = doctor::examine(facts, job.value());
  std::vector<launch::Fact> told = {
      {"Musubi", greeting().version, ""},
      {"kernel", facts.kernel, ""},
      {"glibc", facts.c_library, ""},
      {"cores", std::to_string(facts.cores), ""},
      {"memory free", doctor::in_units(facts.memory_bytes_available), ""},
      {"open files", facts.open_files ? std::to_string(*facts.open_files) : "unlimited", ""},
      {"libfabric", facts.libfabric_providers.empty() ? "none" : facts.libfabric_providers[0], ""},
      {"job", doctor::job_can_run(findings) ? "can run" : "cannot run", ""}};
  for (const doctor::Finding& finding : findings) {
    if (finding.severity == doctor::Severity::ok) continue;
    const char* const kind = finding.severity == doctor::Severity::problem ? "problem: " : "warning: ";
    told.push_back(
        {note, kind + finding.subject + ": " + finding.fact + ". " + finding.meaning, finding.remedy});
  }
  return told;
}

int examine_hosts(const RunOptions& options) {
  config::Configuration configuration;
  if (const auto read = read_settings(options, configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  auto plan = plan_on_hosts(options, configuration.settings());
  if (!plan) return refuse(plan.error().message, status_of_misuse);
  auto hosts = launch::HostsLauncher::examine(std::move(plan).value());
  if (!hosts) return refuse(hosts.error().message, 1);
  print_table(hosts.value());
  bool usable = true;
  for (const launch::HostExamination& host : hosts.value()) {
    if (!host.refusal.empty()) std::printf("problem: %s\n", host.refusal.c_str());
    usable = usable && host.refusal.empty() && value_of(host, "job") == "can run";
    for (const launch::Fact& fact : host.facts) {
      if (fact.subject != note) continue;
      std::printf("%s: %s; %s\n", host.host.name.c_str(), fact.value.c_str(), fact.remedy.c_str());
    }
  }
  return usable ? 0 : 1;
}

int examine_machine(const RunOptions& options, bool as_json) {
  config::Configuration configuration;
  if (const auto read = read_settings(options, configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  auto job = job_of(configuration.settings(), options.ranks);
  if (!job) return refuse(job.error().message, 1);
  const doctor::Facts facts = facts_of_this_host();
  const auto findings = doctor::examine(facts, job.value());
  std::fputs(
      (as_json ? doctor::as_json(findings, job.value(), facts) : doctor::as_text(findings, job.value()))
          .c_str(),
      stdout);
  return doctor::job_can_run(findings) ? 0 : 1;
}

}  // namespace musubi::tools
