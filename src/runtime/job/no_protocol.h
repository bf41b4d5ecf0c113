// Replaces the protocol if all ranks map one memory, or there is one rank: the processors keep it coherent.
// Segments are open from the start, except stacks, which their owner opens; no data is ever compared.
#pragma once

#include "base/event.h"
#include "coherence/no_ordering.h"
#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::runtime {

class NoProtocol final : public coherence::Protocol {
 public:
  NoProtocol(const vm::Space& space, vm::Vm& vm) : space_(space), vm_(vm) {}

  // All memory that a program may touch is open.
  Task<bool> fault(BlockId, vm::Access) override { co_return false; }
  Task<> release(coherence::Scope, bool) override { co_return; }
  bool release_at_once(bool) override { return true; }
  Task<> acquire(coherence::SignatureView, coherence::Audience, coherence::Scope) override { co_return; }
  bool acquire_at_once(coherence::SignatureView, coherence::Audience) override { return true; }
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
  // One instruction, because threads of the program may operate on the same word at the same time.
  bool modify_at_once(BlockId block, coherence::Modification& modification) override {
    const AtomicOperation* const operation = modification.operation;
    if (operation == nullptr || !is_one_instruction(*operation, modification.offset)) return false;
    auto* const bytes = reinterpret_cast<std::byte*>(space_.extent(block).address);
    modification.found(modify_in_place(bytes + modification.offset, *operation));
    return true;
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
