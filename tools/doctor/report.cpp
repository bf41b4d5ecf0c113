#include "doctor/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace musubi::tools::doctor {
namespace {

const char* name(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::warning:
      return "warning";
    case Severity::problem:
      return "problem";
  }
  __builtin_unreachable();
}

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json numbers(const Facts& facts) {
  nlohmann::json pools = nlohmann::json::array();
  for (const HugePages& pool : facts.huge_page_pools) {
    pools.push_back({{"page_bytes", pool.page_bytes}, {"total", pool.total}, {"free", pool.free}});
  }
  return {
      {"kernel", facts.kernel},
      {"c_library", facts.c_library},
      {"architecture", facts.architecture},
      {"mappings_max", or_null(facts.mappings_max)},
      {"overcommit", facts.overcommit},
      {"limits",
       {{"address_space_bytes", or_null(facts.address_space_bytes)},
        {"data_bytes", or_null(facts.data_bytes)},
        {"file_bytes", or_null(facts.file_bytes)},
        {"locked_bytes", or_null(facts.locked_bytes)},
        {"open_files", or_null(facts.open_files)},
        {"processes", or_null(facts.processes)}}},
      {"cores", facts.cores},
      {"processors", facts.processors},
      {"nodes", facts.nodes},
      {"machine_processors", facts.machine_processors},
      {"processor_quota", or_null(facts.group.processors)},
      {"memory_bytes", facts.memory_bytes},
      {"memory_bytes_available", facts.memory_bytes_available},
      {"memory_limit_bytes", or_null(facts.group.memory_bytes_max)},
      {"memory_limit_bytes_left", or_null(facts.group.memory_bytes_left)},
      {"shared_huge_pages", facts.shared_huge_pages},
      {"huge_page_pools", pools},
      {"shared_folder_bytes", or_null(facts.shared_folder_bytes)},
      {"userfaultfd_features", facts.fault_file.features},
      {"libfabric", facts.libfabric_version},
      {"libfabric_providers", facts.libfabric_providers},
      {"libfabric_rma", facts.libfabric_rma},
      {"mpi", facts.mpis},
  };
}

}  // namespace

std::string as_text(const std::vector<Finding>& findings, const Job& job) {
  std::string text;
  for (const Finding& finding : findings) {
    char head[64];
    std::snprintf(head, sizeof head, "%-8s %-17s ", name(finding.severity), finding.subject.c_str());
    text += head + finding.fact + "\n" + std::string(27, ' ') + finding.meaning + "\n";
    if (!finding.remedy.empty()) text += std::string(27, ' ') + "do: " + finding.remedy + "\n";
  }
  const auto warnings = std::ranges::count(findings, Severity::warning, &Finding::severity);
  text += job_can_run(findings) ? "\nA job of " : "\nThere is a problem: no job of ";
  text += std::to_string(job.ranks) + (job.ranks == 1 ? " rank" : " ranks") + " with " +
          std::to_string(job.threads_per_rank) + (job.threads_per_rank == 1 ? " thread" : " threads") +
          (job.ranks == 1 ? " can run here" : " each can run here");
  text += warnings > 0 ? "; warnings: " + std::to_string(warnings) + ".\n" : ".\n";
  if (!job.of_openmp.empty()) text += "An OpenMP program on this host alone: " + job.of_openmp + ".\n";
  return text;
}

std::string as_json(const std::vector<Finding>& findings, const Job& job, const Facts& facts) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"subject", finding.subject},
                    {"severity", name(finding.severity)},
                    {"fact", finding.fact},
                    {"meaning", finding.meaning},
                    {"remedy", finding.remedy}});
  }
  const nlohmann::json whole = {{"can_run", job_can_run(findings)},
                                {"job",
                                 {{"ranks", job.ranks},
                                  {"threads_per_rank", job.threads_per_rank},
                                  {"of_openmp", job.of_openmp},
                                  {"mapped_bytes_per_rank", job.mapped_bytes},
                                  {"table_bytes_per_rank", job.table_bytes}}},
                                {"facts", numbers(facts)},
                                {"findings", list}};
  // File names need not be UTF-8: invalid bytes are replaced, since an exception would end the command.
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace musubi::tools::doctor
