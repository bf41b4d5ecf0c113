#include "filter.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace musubi::compiler {

bool is_private(const llvm::Value& pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(&pointer);
  if (llvm::isa<llvm::AllocaInst>(object))
    return !llvm::PointerMayBeCaptured(object, /*ReturnCaptures=*/true, /*StoreCaptures=*/true);
  if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object))
    return global->isConstant() || global->isThreadLocal();
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(object);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::threadlocal_address;
}

}  // namespace musubi::compiler
