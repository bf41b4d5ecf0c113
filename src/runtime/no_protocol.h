// The protocol of a job of one rank: there is nobody to be coherent with. All memory is open for writing from
// the start, and nothing is ever compared.
#pragma once

#include "base/event.h"
#include "coherence/no_ordering.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::runtime {

class SoloProtocol final : public coherence::Protocol {
 public:
  SoloProtocol(const vm::Space& space, vm::Vm& vm) : space_(space), vm_(vm) {}

  Task<bool> fault(BlockId, vm::Access) override { co_return true; }
  Task<> release(coherence::Scope, bool) override { co_return; }
  Task<> acquire(coherence::SignatureView, coherence::Audience, coherence::Scope) override { co_return; }
  std::uint64_t signature(coherence::SignatureSink& sink) override {
    sink.take({});
    return 0;
  }
  void forget(std::uint64_t) override {}
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime) override { co_return; }
  Task<> modify(BlockId block, coherence::Modification& modification) override {
    auto pass = co_await gate_.enter();
    modification.apply(reinterpret_cast<std::byte*>(space_.extent(block).address));
  }
  void pin(BlockId first, std::uint64_t count) override { vm_.leave_open({first, count}); }
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  void adopt(BlockId, std::uint64_t) override {}
  coherence::Ordering& ordering() override { return ordering_; }

 private:
  const vm::Space& space_;
  vm::Vm& vm_;
  Gate gate_;
  coherence::NoOrdering ordering_{*this};
};

}  // namespace musubi::runtime
