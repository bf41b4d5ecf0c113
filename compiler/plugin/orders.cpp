#include "orders.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "src/checks/abi.h"

namespace musubi::compiler {

namespace {

bool is_relaxed(const llvm::Instruction& instruction) {
  if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return change->getOrdering() == llvm::AtomicOrdering::Monotonic;
  const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
  return exchange != nullptr && exchange->getMergedOrdering() == llvm::AtomicOrdering::Monotonic;
}

bool has_wide_distances(const llvm::Module& module) {
  const auto model = module.getCodeModel();
  return model == llvm::CodeModel::Medium || model == llvm::CodeModel::Large;
}

}  // namespace

// LLVM keeps the addresses of the machine instructions of each instruction with such metadata ("PC
// Sections").
void mark_orders(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  const bool can_mark = !has_wide_distances(module);
  llvm::MDNode* const mark =
      llvm::MDNode::get(context, llvm::MDString::get(context, MUSUBI_CHECKS_RELAXED_SECTION));
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
        if (fence->getSyncScopeID() != llvm::SyncScope::SingleThread)
          fence->setOrdering(llvm::AtomicOrdering::SequentiallyConsistent);
      } else if (can_mark && is_relaxed(instruction)) {
        llvm::MDNode* const others = instruction.getMetadata(llvm::LLVMContext::MD_pcsections);
        instruction.setMetadata(llvm::LLVMContext::MD_pcsections, llvm::MDNode::concatenate(others, mark));
      }
    }
  }
}

}  // namespace musubi::compiler
