// The facts that `musubi doctor` collects about the machine, and about the job that is to run on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/control_group.h"
#include "os/fault_file.h"

namespace musubi::tools::doctor {

// Outcome of an attempt at something that every job does: 0, or the errno of the refusal.
using Attempt = int;

struct HugePages {
  std::uint64_t page_bytes = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

// Empty: no limit.
using Limit = std::optional<std::uint64_t>;

struct Facts {
  std::string architecture;  // as uname has it
  std::string kernel;        // release
  std::string c_library;     // version of glibc
  bool has_xsave = false;    // the processor has it, and the kernel allows it
  bool filtered = false;     // a seccomp filter is in force

  Attempt memory_file = 0;        // memfd_create, its size, a shared mapping
  Attempt peer_memory = 0;        // opening a memory file of another process of this user
  Attempt process_file = 0;       // pidfd_open
  Attempt fixed_addresses = 0;    // personality(ADDR_NO_RANDOMIZE)
  Attempt code_modification = 0;  // a page that is writable and executable at once
  int randomisation = 0;          // kernel.randomize_va_space

  std::optional<std::uint64_t> mappings_max;  // vm.max_map_count
  int overcommit = 0;                         // vm.overcommit_memory
  std::uint64_t commit_limit_bytes = 0;       // in force when overcommit is 2
  std::uint64_t committed_bytes = 0;
  Limit address_space_bytes, data_bytes, file_bytes, locked_bytes, open_files, processes;  // RLIMIT_*

  os::FaultFileOffer fault_file;     // userfaultfd
  std::string fault_file_error;      // the reason why the driver uffd cannot run; empty: it can
  bool unprivileged_faults = false;  // vm.unprivileged_userfaultfd

  std::uint32_t cores = 0;       // physical, with a processor that this process may use
  std::uint32_t processors = 0;  // hardware threads that it may use
  std::uint32_t nodes = 0;       // NUMA nodes among these
  std::uint32_t machine_processors = 0;
  os::ControlGroup group;

  std::string shared_huge_pages;  // transparent huge pages of shared memory: the word in force
  std::vector<HugePages> huge_page_pools;
  std::uint64_t memory_bytes = 0, memory_bytes_available = 0, swap_bytes_free = 0;
  std::optional<std::uint64_t> shared_folder_bytes;  // size of /dev/shm; empty: not mounted
  std::optional<int> traced_scope;                   // kernel.yama.ptrace_scope

  std::string libfabric_version;                 // empty: there is none
  std::vector<std::string> libfabric_providers;  // that can carry a job, the best first
  std::vector<std::string> libfabric_rma;        // by provider: how it carries out gets and puts
  std::vector<std::string> mpis;                 // that have an adapter: "openmpi: Open MPI v4.1.4"

  std::string library;        // path of the preloaded library, or
  std::string library_error;  // the reason why there is none
};

// Inspects the machine and changes nothing on it. Starts and ends one child process. Leaves out the libraries
// and the processors, which the caller knows.
Facts gather();

// A job, as far as it makes demands on the machine.
struct Job {
  std::uint32_t ranks = 2;
  std::uint32_t threads_per_rank = 1;
  std::uint64_t mapped_bytes = 0;  // address space that one rank reserves
  std::uint64_t table_bytes = 0;   // of mapped_bytes, the tables that count as the process's own data
  std::uint64_t file_bytes = 0;    // longest memory file
  std::string vm_driver = "auto";  // the setting
  std::string of_openmp;           // the choice of `musubi run` for an OpenMP program here; empty: not asked
};

}  // namespace musubi::tools::doctor
