#include "vm/uffd/uffd_vm.h"

#include "paged_world.h"

namespace musubi::vm {

std::vector<VmWorldMaker> uffd_worlds() {
  const auto file = os::FaultFile::open();
  const std::string missing = file ? "" : file.error().message;
  return {{"uffd_4k", &PagedWorld<4096, &UffdVm::create>::world, missing},
          {"uffd_32k", &PagedWorld<32768, &UffdVm::create>::world, missing}};
}

}  // namespace musubi::vm
