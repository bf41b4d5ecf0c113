// A driver over real pages, whose blocks are touched for real.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

#include "trace/counters.h"
#include "vm/paged/paged_vm.h"
#include "vm/signal/alternate_stack.h"
#include "vm/signal/fault_handler.h"
#include "vm_world.h"

namespace musubi::vm {

inline sigjmp_buf refused_access;

// A refused fault is the program's own: its handler leaves the access by a jump.
inline void leave_access(int) {
  siglongjmp(refused_access, 1);
}

// The driver itself, for worlds without another one around it.
class Undecorated {
 public:
  Undecorated(PagedVm& vm, const Space&) : vm_(vm) {}
  Vm& vm() { return vm_; }

 private:
  PagedVm& vm_;
};

// `make(space, memory, sink, counters)` returns Result<std::unique_ptr<driver>>.
template <std::size_t block_bytes, auto make, class Decorator = Undecorated>
class PagedWorld final : public VmWorld {
 public:
  PagedWorld() : space_(two_segments(block_bytes, 4096)), handler_(Rank{0}) {
    const int memory = ::memfd_create("vm test", MFD_CLOEXEC);
    MUSUBI_CHECK(memory >= 0 && ::ftruncate(memory, static_cast<off_t>(space_.bytes())) == 0);
    auto made = make(space_, memory, *this, counters_);
    vm_ = std::move(made).value();
    ::close(memory);
    for (std::size_t i = 0; i < space_.segments().size(); ++i) {
      MUSUBI_CHECK(vm_->map_segment(i, Placement::fresh).ok());
    }
    decorator_.emplace(*vm_, space_);
    MUSUBI_CHECK(stack_.install().ok());
    handler_.install();
    for (const int signal : {SIGSEGV, SIGBUS}) handler_.add_owner(signal, *vm_);
    handler_.user_signals().handler(SIGSEGV, &leave_access);
  }
  Vm& vm() override { return decorator_->vm(); }
  const Space& space() const override { return space_; }
  bool try_read(BlockId block) override {
    return touch(block, [](volatile char* byte) { (void)*byte; });
  }
  bool try_write(BlockId block) override {
    return touch(block, [](volatile char* byte) { *byte = 1; });
  }

  static std::unique_ptr<VmWorld> world() { return std::make_unique<PagedWorld>(); }

 private:
  bool touch(BlockId block, void (*access)(volatile char*)) {
    const Extent extent = space_.extent(block);
    auto* const bytes = reinterpret_cast<volatile char*>(extent.address);
    if (sigsetjmp(refused_access, 1) != 0) return false;
    access(bytes);
    access(bytes + extent.bytes - 1);
    return true;
  }

  Space space_;
  trace::Counters counters_;
  AlternateStack stack_;
  FaultHandler handler_;
  std::unique_ptr<PagedVm> vm_;
  std::optional<Decorator> decorator_;
};

}  // namespace musubi::vm
