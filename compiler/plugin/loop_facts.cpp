#include "loop_facts.h"

#include "access.h"

namespace musubi::compiler {

namespace {

// The kill of the loop by name, or an empty text.
std::string kill_in(llvm::Loop& loop, const SyncFree& free) {
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (!free.kills(instruction)) continue;
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) return "an atomic or volatile access in the loop";
      if (call->isInlineAsm()) return "assembly in the loop";
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr) return "a call by pointer in the loop, which may synchronise";
      return "a call of " + callee->getName().str() + " in the loop, which may synchronise";
    }
  }
  return "";
}

bool touches_by_accesses_alone(llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks())
    for (llvm::Instruction& instruction : *block)
      if (!has_only_accesses(instruction)) return false;
  return true;
}

}  // namespace

LoopFacts facts_of(llvm::Loop& loop, llvm::ScalarEvolution& evolution, const SyncFree& free) {
  LoopFacts facts{&loop, nullptr, "", false};
  if (loop.getLoopPreheader() == nullptr || loop.getLoopLatch() == nullptr) {
    facts.hindrance = "the loop has several entries or back edges";
    return facts;
  }
  // With another exit, as `break`, the last iteration may come earlier.
  if (loop.getExitingBlock() != loop.getLoopLatch()) {
    facts.hindrance = "the loop may end in its middle";
    return facts;
  }
  const llvm::SCEV* count = evolution.getBackedgeTakenCount(&loop);
  if (llvm::isa<llvm::SCEVCouldNotCompute>(count) || evolution.getTypeSizeInBits(count->getType()) > 64) {
    facts.hindrance = "the number of iterations is not known before the loop";
    return facts;
  }
  facts.hindrance = kill_in(loop, free);
  if (!facts.hindrance.empty()) return facts;
  facts.last = count;
  facts.only_accesses = touches_by_accesses_alone(loop);
  return facts;
}

}  // namespace musubi::compiler
