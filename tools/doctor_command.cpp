#include "doctor_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "base/in_units.h"
#include "doctor/report.h"
#include "fabric/ofi/ofi.h"
#include "host_facts.h"
#include "job_limits.h"
#include "job_processes.h"
#include "mpi_library.h"
#include "os/cpu.h"
#include "os/memory.h"
#include "program_file.h"
#include "refusal.h"
#include "runtime/start/address_plan.h"
#include "runtime/start/reservation.h"
#include "topology.h"

namespace musubi::tools {
namespace {

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

std::string rma_of(const fabric::OfiProvider& provider) {
  using Moves = fabric::OfiProvider::Moves;
  if (provider.moves == Moves::never) return "no";
  std::string text = provider.puts ? "gets and puts" : "gets";
  if (provider.moves != Moves::by_itself) text += " on request";
  if (provider.moves == Moves::on_request_pinned) text += ", pinned";
  return text;
}

doctor::Facts facts_of_this_host() {
  doctor::Facts facts = doctor::gather();
  add_processors(facts);
  if (auto found = fabric::ofi_on_this_host()) {
    facts.libfabric_version = found.value().version;
    for (const fabric::OfiProvider& provider : found.value().providers) {
      facts.libfabric_providers.push_back(provider.name);
      facts.libfabric_rma.push_back(rma_of(provider));
    }
  }
  facts.mpis = mpis_on_this_host();
  auto library = find_preloaded_library();
  if (library) {
    facts.library = library.value();
  } else {
    facts.library_error = library.error().message;
  }
  return facts;
}

// The facts that must be equal on all hosts. Result: whether the program can run here, as far as one host can
// tell.
bool add_program_facts(const launch::JobOrder& order, std::vector<launch::Fact>& told) {
  if (order.program.empty()) return true;
  auto facts = host_facts(order);
  if (!facts) {
    told.push_back({doctor_note, "problem: program: " + facts.error().message,
                    "copy the same file to all hosts, under the same path"});
    return false;
  }
  std::ranges::move(facts.value(), std::back_inserter(told));
  return true;
}

}  // namespace

Result<std::vector<launch::Fact>> examination_of_this_host(const launch::JobOrder& order) {
  config::Configuration configuration;
  if (auto read = read_settings({}, configuration); !read) return read.error();
  follow_stack_limit(configuration, order.ranks);
  auto job = job_of(configuration.settings(), order.ranks);
  if (!job) return job.error();
  job.value().ranks = order.here.count;
  job.value().threads_per_rank = order.threads_per_rank;
  const doctor::Facts facts = facts_of_this_host();
  const auto findings = doctor::examine(facts, job.value());
  const auto or_unlimited = [](const doctor::Limit& limit, bool is_bytes) {
    if (!limit) return std::string("unlimited");
    return is_bytes ? in_units(*limit) : std::to_string(*limit);
  };
  std::vector<launch::Fact> told = {
      {"Musubi", greeting().version, ""},
      {"kernel", facts.kernel, ""},
      {"glibc", facts.c_library, ""},
      {"cores", std::to_string(facts.cores), ""},
      {"memory free", in_units(facts.memory_bytes_available), ""},
      {"of group", or_unlimited(facts.group.memory_bytes_max, true), ""},
      {"page", in_units(os::page_bytes()), ""},
      {"locked", or_unlimited(facts.locked_bytes, true), ""},
      {"open files", or_unlimited(facts.open_files, false), ""},
      {"userfaultfd", facts.fault_file_error.empty() ? "yes" : "no", ""},
      {"libfabric", facts.libfabric_providers.empty() ? "none" : facts.libfabric_providers[0], ""},
      {"RMA", facts.libfabric_rma.empty() ? "no" : facts.libfabric_rma[0], ""}};
  const bool program_can_run = add_program_facts(order, told);
  told.push_back({"job", program_can_run && doctor::job_can_run(findings) ? "can run" : "cannot run", ""});
  for (const doctor::Finding& finding : findings) {
    if (finding.severity == doctor::Severity::ok) continue;
    const char* const kind = finding.severity == doctor::Severity::problem ? "problem: " : "warning: ";
    told.push_back(
        {doctor_note, kind + finding.subject + ": " + finding.fact + ". " + finding.meaning, finding.remedy});
  }
  return told;
}

int examine_machine(const RunOptions& options, bool as_json) {
  config::Configuration configuration;
  if (const auto read = read_settings(options, configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  follow_stack_limit(configuration, options.ranks);
  auto job = job_of(configuration.settings(), options.ranks);
  if (!job) return refuse(job.error().message, 1);
  if (const auto processes = processes_of(options, configuration.settings(), Model::threads, {}))
    job.value().of_openmp = description_of(processes.value());
  const doctor::Facts facts = facts_of_this_host();
  const auto findings = doctor::examine(facts, job.value());
  std::fputs(
      (as_json ? doctor::as_json(findings, job.value(), facts) : doctor::as_text(findings, job.value()))
          .c_str(),
      stdout);
  return doctor::job_can_run(findings) ? 0 : 1;
}

}  // namespace musubi::tools
