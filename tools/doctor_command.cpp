#include "doctor_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "doctor/report.h"
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

int examine_machine(const RunOptions& options, bool as_json) {
  config::Configuration configuration;
  if (const auto read = read_settings(options, configuration); !read) {
    return refuse(read.error().message, status_of_misuse);
  }
  const config::Settings& settings = configuration.settings();
  auto plan = runtime::AddressPlan::make(settings, runtime::Mappers::on_one_host(options.ranks), {});
  if (!plan) return refuse(plan.error().message, 1);
  const runtime::Reservation reservation = runtime::reservation_of(plan.value());
  doctor::Job job;
  job.ranks = options.ranks;
  job.threads_per_rank = static_cast<std::uint32_t>(settings.threads_per_rank);
  job.mapped_bytes = reservation.mapped_bytes;
  job.table_bytes = reservation.table_bytes;
  job.file_bytes = reservation.file_bytes;
  job.vm_driver = settings.vm_driver;

  doctor::Facts facts = doctor::gather();
  add_processors(facts);
  auto library = find_preloaded_library();
  if (library) {
    facts.library = library.value();
  } else {
    facts.library_error = library.error().message;
  }
  const auto findings = doctor::examine(facts, job);
  std::fputs((as_json ? doctor::as_json(findings, job, facts) : doctor::as_text(findings, job)).c_str(),
             stdout);
  return doctor::job_can_run(findings) ? 0 : 1;
}

}  // namespace musubi::tools
