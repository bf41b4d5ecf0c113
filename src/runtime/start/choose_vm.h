// Which driver of the vm port a rank runs on.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"
#include "runtime/start/host_share.h"
#include "trace/counters.h"
#include "vm/paged/paged_vm.h"

namespace musubi::runtime {

struct ChosenVm {
  std::unique_ptr<vm::PagedVm> vm;
  std::string_view name;  // as the setting vm_driver has it
};

// Whether userfaultfd is the faster one: mprotect interrupts the rank's other threads, but only those that
// run at the same time (docs/decisions/faults.md). `ranks` are those of the job.
constexpr bool gains_by_uffd(std::uint32_t ranks, std::uint64_t threads_per_rank, const HostShare& host) {
  return ranks > 1 && threads_per_rank > 1 && host.cores / host.ranks > 1;
}

// By the setting vm_driver; `ranks`: 1 also where all ranks map one memory, `memory`. The last four arguments
// as for the drivers' create(). Errors: those of create(); that the kernel refuses userfaultfd only where the
// setting asks for it.
Result<ChosenVm> choose_vm(const config::Settings& settings, std::uint32_t ranks, const HostShare& host,
                           const vm::Space& space, int memory, vm::FaultSink& sink,
                           trace::Counters& counters);

}  // namespace musubi::runtime
