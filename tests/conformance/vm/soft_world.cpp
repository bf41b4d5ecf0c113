#include "simulator/vm/soft_vm.h"

#include "vm_world.h"

namespace musubi::vm {
namespace {

class SoftWorld final : public VmWorld {
 public:
  SoftWorld() : space_(two_segments(64, 16)), vm_(space_.blocks()) {}
  Vm& vm() override { return vm_; }
  const Space& space() const override { return space_; }
  bool try_read(BlockId block) override { return touch(block, Access::read); }
  bool try_write(BlockId block) override { return touch(block, Access::write); }

 private:
  bool touch(BlockId block, Access wanted) {
    while (!vm_.allows(block, wanted)) {
      if (!on_fault({block, wanted})) return false;
    }
    return true;
  }

  Space space_;
  SoftVm vm_;
};

}  // namespace

std::vector<VmWorldMaker> soft_worlds() {
  return {{"soft", []() -> std::unique_ptr<VmWorld> { return std::make_unique<SoftWorld>(); }}};
}

}  // namespace musubi::vm
