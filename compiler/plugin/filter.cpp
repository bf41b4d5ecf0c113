#include "filter.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace musubi::compiler {

namespace {

bool is_private_object(const llvm::Value& object) {
  const auto* argument = llvm::dyn_cast<llvm::Argument>(&object);
  if (llvm::isa<llvm::AllocaInst>(object) || (argument != nullptr && argument->hasByValAttr()))
    return !llvm::PointerMayBeCaptured(&object, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(&object))
    return global->isConstant() || global->isThreadLocal();
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&object);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address;
}

}  // namespace

bool Filter::is_private(const llvm::Value& pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(&pointer);
  const auto [place, is_new] = known_.try_emplace(object, false);
  if (is_new) place->second = is_private_object(*object);
  return place->second;
}

}  // namespace musubi::compiler
