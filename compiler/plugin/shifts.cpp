#include "shifts.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

namespace musubi::compiler {

namespace {

// The outermost loop around the instruction in which the value does not change; null if there is none.
llvm::Loop* loop_without(const llvm::Value& value, const llvm::Instruction& instruction,
                         llvm::LoopInfo& loops) {
  llvm::Loop* found = nullptr;
  for (llvm::Loop* loop = loops.getLoopFor(instruction.getParent()); loop != nullptr;
       loop = loop->getParentLoop())
    if (loop->isLoopInvariant(&value)) found = loop;
  return found;
}

bool becomes_product(llvm::Instruction& shift, llvm::LoopInfo& loops) {
  if (shift.getOpcode() != llvm::Instruction::Shl || !shift.getType()->isIntegerTy() ||
      llvm::isa<llvm::Constant>(shift.getOperand(0)) || llvm::isa<llvm::Constant>(shift.getOperand(1)))
    return false;
  const llvm::Loop* inner = loops.getLoopFor(shift.getParent());
  if (inner == nullptr || inner->isLoopInvariant(shift.getOperand(0))) return false;
  const llvm::Loop* loop = loop_without(*shift.getOperand(1), shift, loops);
  if (loop == nullptr || loop->getLoopPreheader() == nullptr) return false;
  llvm::IRBuilder<> before(loop->getLoopPreheader()->getTerminator());
  llvm::Value* power = before.CreateShl(llvm::ConstantInt::get(shift.getType(), 1), shift.getOperand(1));
  // A shift by all bits but one may keep its sign where the product, by the least number, does not.
  const bool keeps_sign = shift.hasNoSignedWrap() && shift.hasNoUnsignedWrap();
  llvm::IRBuilder<> at(&shift);
  llvm::Value* product = at.CreateMul(shift.getOperand(0), power, "", shift.hasNoUnsignedWrap(), keeps_sign);
  product->takeName(&shift);
  shift.replaceAllUsesWith(product);
  return true;
}

}  // namespace

llvm::PreservedAnalyses Shifts::run(llvm::Function& function, llvm::FunctionAnalysisManager& manager) {
  auto& loops = manager.getResult<llvm::LoopAnalysis>(function);
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!becomes_product(instruction, loops)) continue;
    instruction.eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace musubi::compiler
