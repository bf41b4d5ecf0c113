#include "access.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IntrinsicInst.h"

namespace musubi::compiler {

namespace {

using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;

// Whether a value of the type in memory has no bits that a store leaves alone, such as those of i1 or x87's.
bool fills_its_bytes(llvm::Type* type, const llvm::DataLayout& layout) {
  return layout.typeSizeEqualsStoreSize(type) && !type->isX86_FP80Ty() && !type->isAggregateType();
}

void append_intrinsic(llvm::MemIntrinsic& intrinsic, llvm::ScalarEvolution& evolution,
                      llvm::SmallVectorImpl<Access>& accesses) {
  llvm::Type* word = llvm::Type::getInt64Ty(intrinsic.getContext());
  const llvm::SCEV* bytes = evolution.getTruncateOrZeroExtend(evolution.getSCEV(intrinsic.getLength()), word);
  if (auto* transfer = dyn_cast<llvm::MemTransferInst>(&intrinsic))
    accesses.push_back({&intrinsic, transfer->getSource(), bytes, false, false, true});
  // A move may read bytes that it has written.
  const bool whole = !isa<llvm::MemMoveInst>(intrinsic);
  accesses.push_back({&intrinsic, intrinsic.getDest(), bytes, true, whole, true});
}

}  // namespace

void append_accesses(llvm::Instruction& instruction, llvm::ScalarEvolution& evolution,
                     llvm::SmallVectorImpl<Access>& accesses) {
  if (instruction.isAtomic() || instruction.isVolatile()) return;
  if (auto* intrinsic = dyn_cast<llvm::MemIntrinsic>(&instruction)) {
    if (intrinsic->getDestAddressSpace() == 0) append_intrinsic(*intrinsic, evolution, accesses);
    return;
  }
  llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
  if (pointer == nullptr || pointer->getType()->getPointerAddressSpace() != 0) return;
  llvm::Type* type = llvm::getLoadStoreType(&instruction);
  const llvm::DataLayout& layout = instruction.getDataLayout();
  const llvm::TypeSize bytes = layout.getTypeStoreSize(type);
  if (bytes.isScalable()) return;
  llvm::Type* word = llvm::Type::getInt64Ty(instruction.getContext());
  const bool writes = isa<llvm::StoreInst>(instruction);
  accesses.push_back({&instruction, pointer, evolution.getConstant(word, bytes.getFixedValue()), writes,
                      writes && fills_its_bytes(type, layout), false});
}

bool has_only_accesses(const llvm::Instruction& instruction) {
  if (instruction.isAtomic() || instruction.isVolatile() || instruction.mayThrow()) return false;
  if (isa<llvm::LoadInst, llvm::StoreInst, llvm::MemIntrinsic>(instruction)) return true;
  if (const auto* call = dyn_cast<llvm::CallBase>(&instruction)) {
    // An unknown function may end the program, or jump, before the loop has ended.
    const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(call);
    return intrinsic != nullptr && (intrinsic->isAssumeLikeIntrinsic() || intrinsic->doesNotAccessMemory());
  }
  return !instruction.mayReadOrWriteMemory();
}

}  // namespace musubi::compiler
