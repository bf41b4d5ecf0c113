// Chooses a rank's driver of the vm port.
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
  std::string_view name;  // value of the setting vm_driver
};

// Whether userfaultfd is the faster driver: mprotect interrupts the rank's other threads, but only those that
// run at the same time (docs/decisions/faults.md). `ranks`: of the job.
constexpr bool gains_by_uffd(std::uint32_t ranks, std::uint64_t threads_per_rank, const HostShare& host) {
  return ranks > 1 && threads_per_rank > 1 && host.cores / host.ranks > 1;
}

// Chooses by the setting vm_driver; `ranks`: 1 also if all ranks map one memory, `memory`. The last four
// arguments are as for the drivers' create(). Errors: those of create(); a kernel without userfaultfd is an
// error only if the setting asks for it.
Result<ChosenVm> choose_vm(const config::Settings& settings, std::uint32_t ranks, const HostShare& host,
                           const vm::Space& space, int memory, vm::FaultSink& sink,
                           trace::Counters& counters);

}  // namespace musubi::runtime
