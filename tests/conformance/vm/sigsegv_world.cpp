#include "vm/sigsegv/sigsegv_vm.h"

#include "paged_world.h"

namespace musubi::vm {
namespace {

template <std::size_t mappings_max>
auto make(const Space& space, int memory, FaultSink& sink, trace::Counters& counters) {
  return SigsegvVm::create(space, memory, sink, {mappings_max}, counters);
}

}  // namespace

std::vector<VmWorldMaker> sigsegv_worlds() {
  return {{"sigsegv_4k", &PagedWorld<4096, &make<0>>::world},
          {"sigsegv_32k", &PagedWorld<32768, &make<0>>::world},
          {"sigsegv_4k_8_mappings", &PagedWorld<4096, &make<8>>::world},
          {"sigsegv_32k_40_mappings", &PagedWorld<32768, &make<40>>::world}};
}

}  // namespace musubi::vm
