#include "sequence.h"

#include "counts.h"
#include "covered.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace musubi::compiler {

namespace {

using llvm::IRBuilder;
using llvm::Value;

constexpr uint64_t kStatesPerLoad = 8;
constexpr llvm::StringLiteral kEntryAttribute = "musubi-entry";

}  // namespace

Sequence::Sequence(llvm::LLVMContext& context)
    : context_(context),
      word_(llvm::Type::getInt64Ty(context)),
      pointer_(llvm::PointerType::getUnqual(context)) {}

// Page and table need no check themselves.
Value* Sequence::load(IRBuilder<>& builder, llvm::Type* type, Value* place, llvm::Align align) const {
  llvm::LoadInst* load = builder.CreateAlignedLoad(type, place, align);
  mark_covered(*load, /*writes=*/false);
  return load;
}

// Of the state of an address.
Value* Sequence::place(IRBuilder<>& builder, Value* address) const {
  Value* place = builder.CreateAdd(builder.CreateLShr(address, granule_shift()), number(MUSUBI_CHECKS_TABLE));
  return builder.CreateIntToPtr(place, pointer_);
}

Value* Sequence::state(IRBuilder<>& builder, Value* address) const {
  return load(builder, builder.getInt8Ty(), place(builder, address), llvm::Align(1));
}

Value* Sequence::is_pair_closed(IRBuilder<>& builder, Value* address, Permission permission) const {
  Value* pair = load(builder, builder.getInt16Ty(), place(builder, address), llvm::Align(1));
  Value* bits = builder.getInt16(static_cast<uint16_t>(bit_of(permission) * 0x0101));
  return builder.CreateICmpNE(builder.CreateAnd(pair, bits), builder.getInt16(0));
}

Value* Sequence::states(IRBuilder<>& builder, Value* first, Value* last) const {
  Value* one = state(builder, first);
  return builder.CreateOr(one, state(builder, last));
}

Value* Sequence::is_closed(IRBuilder<>& builder, Value* state, Permission permission) const {
  Value* bit = builder.getInt8(bit_of(permission));
  return builder.CreateICmpNE(builder.CreateAnd(state, bit), builder.getInt8(0));
}

Value* Sequence::is_closed(IRBuilder<>& builder, Value* first, Value* last, bool writes) const {
  const uint64_t bit = bit_of(permission_for(writes));
  Value* more = builder.CreateSub(last, first);
  Value* place = builder.CreateIntToPtr(builder.CreateAdd(first, number(MUSUBI_CHECKS_TABLE)), pointer_);
  Value* states = load(builder, word_, place, llvm::Align(1));
  // Shifts out the states of granules after the last.
  Value* after =
      builder.CreateAnd(builder.CreateSub(number(kStatesPerLoad - 1), more), number(kStatesPerLoad - 1));
  states = builder.CreateShl(states, builder.CreateMul(after, number(8)));
  Value* closed =
      builder.CreateICmpNE(builder.CreateAnd(states, number(bit * 0x0101010101010101)), number(0));
  Value* many = builder.CreateICmpUGE(more, number(kStatesPerLoad));
  return builder.CreateOr(many, closed);
}

Value* Sequence::slot(IRBuilder<>& builder, unsigned entry) const {
  return builder.CreateIntToPtr(number(MUSUBI_CHECKS_PAGE + 8 * uint64_t{entry}), pointer_);
}

llvm::CallInst* Sequence::call(IRBuilder<>& builder, Value* slot, llvm::ArrayRef<Value*> arguments,
                               Effects effects) const {
  count(builder, Counted::call);
  const llvm::SmallVector<llvm::Type*, 2> types(arguments.size(), word_);
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), types, false);
  llvm::CallInst* call = builder.CreateCall(type, load(builder, pointer_, slot, llvm::Align(8)), arguments);
  // Preserves all registers but r11, as src/checks/abi.h promises.
  call->setCallingConv(llvm::CallingConv::PreserveAll);
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::get(context_, kEntryAttribute));
  if (effects == Effects::none) call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  return call;
}

llvm::Instruction* Sequence::branch(IRBuilder<>& builder, Value* condition, bool is_rare) const {
  llvm::Instruction* place = &*builder.GetInsertPoint();
  llvm::MDNode* weights = is_rare ? llvm::MDBuilder(context_).createUnlikelyBranchWeights() : nullptr;
  builder.SetInsertPoint(
      llvm::SplitBlockAndInsertIfThen(condition, place->getIterator(), /*Unreachable=*/false, weights));
  return place;
}

bool is_entry(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call->hasFnAttr(kEntryAttribute);
}

}  // namespace musubi::compiler
