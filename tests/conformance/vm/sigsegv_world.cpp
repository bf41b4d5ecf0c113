#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vm/sigsegv/alternate_stack.h"
#include "vm/sigsegv/fault_handler.h"
#include "vm/sigsegv/sigsegv_vm.h"
#include "vm_world.h"

namespace musubi::vm {
namespace {

sigjmp_buf refused;

// A refused fault is the program's own: its handler leaves the access by a jump.
void leave_access(int) {
  siglongjmp(refused, 1);
}

template <std::size_t block_bytes, std::size_t mappings_max>
class SigsegvWorld final : public VmWorld {
 public:
  SigsegvWorld() : space_(two_segments(block_bytes, 4096)), handler_(Rank{0}) {
    const int memory = ::memfd_create("vm test", MFD_CLOEXEC);
    MUSUBI_CHECK(memory >= 0 && ::ftruncate(memory, static_cast<off_t>(space_.bytes())) == 0);
    auto made = SigsegvVm::create(space_, memory, *this, {mappings_max}, counters_);
    vm_ = std::move(made).value();
    ::close(memory);
    for (std::size_t i = 0; i < space_.segments().size(); ++i) {
      MUSUBI_CHECK(vm_->map_segment(i, SigsegvVm::Placement::fresh).ok());
    }
    MUSUBI_CHECK(stack_.install().ok());
    handler_.install();
    handler_.add_owner(SIGSEGV, *vm_);
    handler_.user_signals().handler(SIGSEGV, &leave_access);
  }
  Vm& vm() override { return *vm_; }
  const Space& space() const override { return space_; }
  bool try_read(BlockId block) override {
    return touch(block, [](volatile char* byte) { (void)*byte; });
  }
  bool try_write(BlockId block) override {
    return touch(block, [](volatile char* byte) { *byte = 1; });
  }

 private:
  bool touch(BlockId block, void (*access)(volatile char*)) {
    const Extent extent = space_.extent(block);
    auto* const bytes = reinterpret_cast<volatile char*>(extent.address);
    if (sigsetjmp(refused, 1) != 0) return false;
    access(bytes);
    access(bytes + extent.bytes - 1);
    return true;
  }

  Space space_;
  trace::Counters counters_;
  AlternateStack stack_;
  FaultHandler handler_;
  std::unique_ptr<SigsegvVm> vm_;
};

template <std::size_t block_bytes, std::size_t mappings_max>
std::unique_ptr<VmWorld> make() {
  return std::make_unique<SigsegvWorld<block_bytes, mappings_max>>();
}

}  // namespace

std::vector<VmWorldMaker> sigsegv_worlds() {
  return {{"sigsegv_4k", &make<4096, 0>},
          {"sigsegv_32k", &make<32768, 0>},
          {"sigsegv_4k_8_mappings", &make<4096, 8>},
          {"sigsegv_32k_40_mappings", &make<32768, 40>}};
}

}  // namespace musubi::vm
