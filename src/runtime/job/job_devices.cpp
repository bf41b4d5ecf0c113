#include "runtime/job/job_devices.h"

#include <signal.h>

#include <string>

#include "checks/abi.h"
#include "os/control_group.h"
#include "runtime/job/one_memory.h"
#include "runtime/job/recording.h"

namespace musubi::runtime {

static_assert(vm::StateTable::not_readable == MUSUBI_CHECKS_NOT_READABLE);
static_assert(vm::StateTable::not_writable == MUSUBI_CHECKS_NOT_WRITABLE);
static_assert(vm::unwritten == MUSUBI_CHECKS_UNWRITTEN);
static_assert(vm::StateTable::not_storable == MUSUBI_CHECKS_NOT_STORABLE);
static_assert(vm::StateTable::address_bits == MUSUBI_CHECKS_ADDRESS_BITS);

vm::SignalVerdict SharedRegions::on_signal(int signal, const siginfo_t& information, ucontext_t&) noexcept {
  if (signal != SIGBUS || information.si_code <= 0) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(information.si_addr);
  for (std::uint32_t rank = 0; rank < fabric_.ranks(); ++rank) {
    for (const fabric::RegionMemory& region : regions_) {
      const auto base = reinterpret_cast<std::uintptr_t>(fabric_.direct(Rank{rank}, region.id));
      if (base == 0 || address - base >= region.bytes) continue;
      return {vm::SignalVerdict::Kind::fatal,
              "in the memory that ranks share: no memory is left for it (`musubi doctor` shows the limits)"};
    }
  }
  return {};
}

Result<void> JobDevices::open(vm::FaultSink& sink, std::optional<unsigned> granule_shift) {
  const config::Settings& settings = job_.settings;
  const vm::Space& space = job_.plan.space;
  const bool maps_one_memory = job_.one_memory && job_.ranks > 1;
  const std::size_t private_bytes = MemoryFiles::private_bytes(job_.plan);
  auto memory = maps_one_memory ? open_one_memory(*job_.bootstrap, private_bytes)
                                : os::create_memory_file("musubi-private", private_bytes);
  if (!memory) return memory.error();
  auto files = MemoryFiles::make(std::move(memory).value(), job_.plan, job_.control, job_.entry_sizes);
  if (!files) return files.error();
  files_ = std::move(files).value();
  memory_watch_ = std::make_unique<MemoryWatch>(files_->block_files(), settings.memory_max, job_.host.ranks,
                                                [] { return os::memory_bytes_left(); });

  auto chosen = choose_vm(settings, job_.one_memory ? 1 : job_.ranks, job_.host, space,
                          files_->private_file(), sink, job_.counters);
  if (!chosen) return chosen.error();
  vm_ = std::move(chosen).value();
  if (granule_shift && !job_.one_memory)
    checked_vm_.emplace(vm(), space, states_of_checks_.emplace(MUSUBI_CHECKS_TABLE, *granule_shift));
  using Shows = vm::VerifyingVm::Shows;
  if (records_accesses(job_))
    verifying_vm_.emplace(block_vm(), space, Shows::what_is_touched);
  else if (checked_vm_ && settings.checks == "verify")
    verifying_vm_.emplace(*checked_vm_, space, Shows::what_is_opened);
  if (maps_one_memory) vm_.name = "none: all ranks map one memory";
  const auto regions = files_->regions(vm().system_view());
  const auto policy = policy_for(static_cast<std::uint32_t>(settings.threads_per_rank));
  if (auto opened = fabric_.open(regions, policy); !opened) return opened;
  shared_regions_ = std::make_unique<SharedRegions>(fabric_.memory(), regions);

  for (const std::size_t segment : {job_.plan.heap_segment, job_.plan.stacks_segment}) {
    if (auto mapped = vm().map_segment(segment, vm::Placement::fresh); !mapped) return mapped;
  }
  open_fault_handler();
  return {};
}

Result<void> JobDevices::leave_open(std::size_t segment) {
  return vm().leave_segment_open(segment, job_.ranks == 1 ? vm::Backing::own : vm::Backing::memory_file);
}

void JobDevices::open_fault_handler() {
  fault_handler_ = std::make_unique<vm::FaultHandler>(job_.self);
  fault_handler_->install();
  if (job_.bootstrap->tells_crashes()) {
    fault_handler_->set_crash_listener(this, job_.settings.runtime_frames);
  }
  fault_handler_->add_owner(SIGSEGV, vm());
  fault_handler_->add_owner(SIGBUS, vm());
  fault_handler_->add_owner(SIGBUS, *shared_regions_);
}

fabric::WaitingPolicy JobDevices::policy_for(std::uint32_t threads_per_rank) const {
  return waiting_policy_on(job_.host, job_.settings, threads_per_rank);
}

}  // namespace musubi::runtime
