#include "sync_free.h"

#include "library_calls.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "sequence.h"

namespace musubi::compiler {

SyncFree::SyncFree(llvm::Module& module, const Libraries& libraries) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) {
      // Another definition may take the place of a weak one when the program is linked.
      if (!function.isInterposable()) free_.insert(&function);
      continue;
    }
    llvm::LibFunc known;
    if (is_quiet_library_function(function.getName()) || libraries(function).getLibFunc(function, known))
      library_.insert(&function);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function& function : module) {
      if (free_.contains(&function) && has_kill(function)) {
        free_.erase(&function);
        changed = true;
      }
    }
  }
}

bool SyncFree::is_quiet_call(const llvm::CallBase& call) const {
  // It returns once more after all that comes between.
  if (call.hasFnAttr(llvm::Attribute::ReturnsTwice)) return false;
  if (llvm::isa<llvm::IntrinsicInst>(call) || call.hasFnAttr(llvm::Attribute::NoSync) ||
      call.doesNotAccessMemory())
    return true;
  if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
    return !assembly->hasSideEffects();
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && (free_.contains(callee) || library_.contains(callee));
}

bool SyncFree::kills(const llvm::Instruction& instruction) const {
  if (instruction.isAtomic() || instruction.isVolatile()) return true;
  if (is_entry(instruction)) return false;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && !is_quiet_call(*call);
}

bool SyncFree::has_kill(llvm::Function& function) const {
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (kills(instruction)) return true;
  return false;
}

}  // namespace musubi::compiler
