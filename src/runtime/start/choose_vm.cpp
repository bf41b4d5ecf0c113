#include "runtime/start/choose_vm.h"

#include "vm/sigsegv/sigsegv_vm.h"
#include "vm/uffd/uffd_vm.h"

namespace musubi::runtime {

Result<ChosenVm> choose_vm(const config::Settings& settings, std::uint32_t ranks, const HostShare& host,
                           const vm::Space& space, int memory, vm::FaultSink& sink,
                           trace::Counters& counters) {
  const bool asked = settings.vm_driver == "uffd";
  const bool gains = gains_by_uffd(ranks, settings.threads_per_rank, host);
  if (asked || (settings.vm_driver == "auto" && gains)) {
    auto vm = vm::UffdVm::create(space, memory, sink, counters);
    if (vm) return ChosenVm{std::move(vm).value(), "uffd"};
    if (asked) return vm.error();
  }
  auto vm = vm::SigsegvVm::create(space, memory, sink, {}, counters);
  if (!vm) return vm.error();
  return ChosenVm{std::move(vm).value(), "mprotect"};
}

}  // namespace musubi::runtime
