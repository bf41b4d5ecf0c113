// The devices of a rank: the files that hold its memory, the driver that protects it, the fabric, the signal
// handlers. Chosen here; the layers above know only the ports.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "fabric/fabric.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_fabric.h"
#include "runtime/start/choose_vm.h"
#include "runtime/start/memory_files.h"
#include "runtime/start/memory_watch.h"
#include "vm/checked/checked_vm.h"
#include "vm/checked/verifying_vm.h"
#include "vm/signal/fault_handler.h"
#include "vm/signal/signal_owner.h"

namespace musubi::runtime {

// The memory that ranks offer each other. An access can fail: the kernel raises SIGBUS if it cannot allocate
// the page.
class SharedRegions final : public vm::SignalOwner {
 public:
  // The regions of every rank, all of these sizes. `fabric` outlives this object.
  SharedRegions(fabric::Fabric& fabric, const std::array<fabric::RegionMemory, 6>& regions)
      : fabric_(fabric), regions_(regions) {}

  // Fatal, with an explanation, for SIGBUS in one of the regions; otherwise foreign.
  vm::SignalVerdict on_signal(int signal, const siginfo_t& information,
                              ucontext_t& context) noexcept override;

 private:
  fabric::Fabric& fabric_;
  const std::array<fabric::RegionMemory, 6> regions_;
};

class JobDevices final : private vm::CrashListener {
 public:
  explicit JobDevices(JobContext& job) : job_(job), fabric_(job) {}
  // The fault handler refers to this object.
  JobDevices(const JobDevices&) = delete;

  // Opens all devices, and maps heap and stacks. Collective. Call before all other functions; `sink` gets the
  // faults. `granule_shift`: of the program's compiled checks, for which page and table are mapped. Errors:
  // refused by the kernel.
  Result<void> open(vm::FaultSink& sink, std::optional<unsigned> granule_shift);

  MemoryFiles& files() noexcept { return *files_; }
  MemoryWatch& memory_watch() noexcept { return *memory_watch_; }
  fabric::Fabric& fabric() noexcept { return fabric_.fabric(); }
  JobFabric& job_fabric() noexcept { return fabric_; }
  vm::FaultHandler& fault_handler() noexcept { return *fault_handler_; }
  vm::PagedVm& vm() noexcept { return *vm_.vm; }
  // The driver for protocols: it also tells compiled checks of each change.
  vm::Vm& block_vm() noexcept {
    if (verifying_vm_) return *verifying_vm_;
    return checked_vm_ ? static_cast<vm::Vm&>(*checked_vm_) : *vm_.vm;
  }
  // Null unless setting checks=verify looks for missing checks.
  vm::VerifyingVm* verifying_vm() noexcept { return verifying_vm_ ? &*verifying_vm_ : nullptr; }
  // The program's thread begins to synchronise.
  void note_synchronisation(vm::VerifyingVm::Synchronisation kind, std::uint64_t number = 0) noexcept {
    if (verifying_vm_) verifying_vm_->begin_synchronisation(kind, number);
  }
  // Null if the program has no compiled checks, or no protocol is used.
  vm::CheckedVm* checked_vm() noexcept { return checked_vm_ ? &*checked_vm_ : nullptr; }
  // Null as checked_vm().
  const vm::BlockStates* block_states() const noexcept {
    return checked_vm_ ? &checked_vm_->states() : nullptr;
  }
  std::string_view vm_driver() const noexcept { return vm_.name; }

  // Opens a mapped segment permanently if no protocol is used. Errors: refused by the kernel.
  Result<void> leave_open(std::size_t segment);

  // How threads wait while each rank runs so many, by settings and cores.
  fabric::WaitingPolicy policy_for(std::uint32_t threads_per_rank) const;
  // Applies to later waits of the fabric. Any thread.
  void set_policy(fabric::WaitingPolicy policy) noexcept { fabric_.set_policy(policy); }

 private:
  void tell_crash(std::string_view cause) noexcept override { job_.bootstrap->tell_crash(cause); }
  bool tell_frames(std::span<const std::uintptr_t> frames) noexcept override {
    return job_.bootstrap->tell_frames(frames);
  }
  void open_fault_handler();

  JobContext& job_;
  std::unique_ptr<MemoryFiles> files_;
  std::unique_ptr<MemoryWatch> memory_watch_;
  JobFabric fabric_;
  std::unique_ptr<SharedRegions> shared_regions_;
  std::unique_ptr<vm::FaultHandler> fault_handler_;
  ChosenVm vm_;
  std::optional<vm::StateTable> states_of_checks_;
  std::optional<vm::CheckedVm> checked_vm_;
  std::optional<vm::VerifyingVm> verifying_vm_;
};

}  // namespace musubi::runtime
