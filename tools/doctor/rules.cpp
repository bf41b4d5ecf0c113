#include "doctor/rules.h"

#include <algorithm>
#include <cstdio>

#include "doctor/rule_list.h"

namespace musubi::tools::doctor {

std::vector<Finding> examine(const Facts& facts, const Job& job) {
  constexpr Finding (*rules[])(const Facts&, const Job&) = {examine_kernel,
                                                            examine_c_library,
                                                            examine_processor,
                                                            examine_library,
                                                            examine_memory_files,
                                                            examine_peer_memory,
                                                            examine_process_files,
                                                            examine_addresses,
                                                            examine_code_modification,
                                                            examine_mappings,
                                                            examine_overcommit,
                                                            examine_address_space,
                                                            examine_data_limit,
                                                            examine_file_limit,
                                                            examine_locked_memory,
                                                            examine_open_files,
                                                            examine_processes,
                                                            examine_cores,
                                                            examine_quota,
                                                            examine_memory,
                                                            examine_memory_limit,
                                                            examine_huge_pages,
                                                            examine_huge_page_pools,
                                                            examine_shared_folder,
                                                            examine_libfabric,
                                                            examine_mpi,
                                                            examine_fault_file,
                                                            examine_tracing};
  std::vector<Finding> findings;
  for (const auto rule : rules) findings.push_back(rule(facts, job));
  return findings;
}

bool job_can_run(const std::vector<Finding>& findings) {
  return std::ranges::none_of(findings,
                              [](const Finding& finding) { return finding.severity == Severity::problem; });
}

}  // namespace musubi::tools::doctor
