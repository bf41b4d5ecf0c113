// The rules one by one; see rules.h.
#pragma once

#include "doctor/rules.h"

namespace musubi::tools::doctor {

// kernel_rules.cpp: abilities of the kernel, the C library and the processor
Finding examine_kernel(const Facts& facts, const Job& job);
Finding examine_c_library(const Facts& facts, const Job& job);
Finding examine_processor(const Facts& facts, const Job& job);
Finding examine_memory_files(const Facts& facts, const Job& job);
Finding examine_peer_memory(const Facts& facts, const Job& job);
Finding examine_process_files(const Facts& facts, const Job& job);
Finding examine_addresses(const Facts& facts, const Job& job);
Finding examine_code_modification(const Facts& facts, const Job& job);
Finding examine_fault_file(const Facts& facts, const Job& job);
Finding examine_tracing(const Facts& facts, const Job& job);
Finding examine_library(const Facts& facts, const Job& job);

// limit_rules.cpp: numbers that the kernel or an administrator has set
Finding examine_mappings(const Facts& facts, const Job& job);
Finding examine_overcommit(const Facts& facts, const Job& job);
Finding examine_address_space(const Facts& facts, const Job& job);
Finding examine_data_limit(const Facts& facts, const Job& job);
Finding examine_file_limit(const Facts& facts, const Job& job);
Finding examine_locked_memory(const Facts& facts, const Job& job);
Finding examine_open_files(const Facts& facts, const Job& job);
Finding examine_processes(const Facts& facts, const Job& job);

// resource_rules.cpp: processors and memory
Finding examine_cores(const Facts& facts, const Job& job);
Finding examine_quota(const Facts& facts, const Job& job);
Finding examine_memory(const Facts& facts, const Job& job);
Finding examine_memory_limit(const Facts& facts, const Job& job);
Finding examine_huge_pages(const Facts& facts, const Job& job);
Finding examine_huge_page_pools(const Facts& facts, const Job& job);
Finding examine_shared_folder(const Facts& facts, const Job& job);
Finding examine_libfabric(const Facts& facts, const Job& job);
Finding examine_mpi(const Facts& facts, const Job& job);

}  // namespace musubi::tools::doctor
