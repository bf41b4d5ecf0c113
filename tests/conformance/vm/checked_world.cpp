// The drivers that keep the states of compiled checks and verify their use, around mprotect.
#include <utility>

#include "os/memory.h"
#include "paged_world.h"
#include "vm/checked/checked_vm.h"
#include "vm/checked/verifying_vm.h"
#include "vm/sigsegv/sigsegv_vm.h"

namespace musubi::vm {
namespace {

constexpr unsigned granule_shift = 9;

class WithStates {
 public:
  WithStates(PagedVm& pages, const Space& space)
      : mapping_(os::Mapping::anywhere(StateTable::bytes(granule_shift), os::Protection::read).value()),
        table_(reinterpret_cast<std::uintptr_t>(mapping_.data()), granule_shift),
        vm_(pages, space, table_) {}
  CheckedVm& vm() { return vm_; }

 private:
  os::Mapping mapping_;
  StateTable table_;
  CheckedVm vm_;
};

class WithVerification {
 public:
  WithVerification(PagedVm& pages, const Space& space)
      : states_(pages, space), vm_(states_.vm(), space, VerifyingVm::Shows::what_is_opened) {}
  VerifyingVm& vm() { return vm_; }

 private:
  WithStates states_;
  VerifyingVm vm_;
};

template <std::size_t mappings_max>
auto make(const Space& space, int memory, FaultSink& sink, trace::Counters& counters) {
  return SigsegvVm::create(space, memory, sink, {mappings_max}, counters);
}

}  // namespace

std::vector<VmWorldMaker> checked_worlds() {
  return {{"checked_4k", &PagedWorld<4096, &make<0>, WithStates>::world},
          {"checked_32k_40_mappings", &PagedWorld<32768, &make<40>, WithStates>::world},
          {"verifying_4k", &PagedWorld<4096, &make<0>, WithVerification>::world}};
}

}  // namespace musubi::vm
