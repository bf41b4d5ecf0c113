#include "complete.h"

#include "filter.h"
#include "library_calls.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "sequence.h"
#include "touches.h"

namespace musubi::compiler {

namespace {

using llvm::dyn_cast;
using llvm::isa;

std::string place_of(const llvm::Instruction& instruction) {
  const llvm::DebugLoc& place = instruction.getDebugLoc();
  if (!place) return "in " + instruction.getFunction()->getName().str();
  const llvm::StringRef file = llvm::cast<llvm::DIScope>(place.getScope())->getFilename();
  return "at " + file.str() + ":" + std::to_string(place.getLine());
}

class Judge {
 public:
  explicit Judge(const llvm::TargetLibraryInfo& library) : library_(library) {}

  // The part of an instruction that has no check, or an empty text.
  std::string unchecked(llvm::Instruction& instruction);

 private:
  bool takes_shared_pointer(const llvm::CallBase& call);
  std::string unchecked_call(const llvm::CallBase& call);

  const llvm::TargetLibraryInfo& library_;
  Filter filter_;
};

bool Judge::takes_shared_pointer(const llvm::CallBase& call) {
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value* argument = call.getArgOperand(i);
    if (!argument->getType()->isPtrOrPtrVectorTy() || call.isByValArgument(i) ||
        call.doesNotAccessMemory(i) ||
        isa<llvm::ConstantPointerNull, llvm::Function, llvm::UndefValue>(argument))
      continue;
    if (!argument->getType()->isPointerTy() || !filter_.is_private(*argument)) return true;
  }
  return false;
}

// Assembly cannot touch memory without a pointer or a word that says so.
bool touches_memory(const llvm::InlineAsm& assembly) {
  const llvm::StringRef constraints = assembly.getConstraintString();
  return !llvm::StringRef(assembly.getAsmString()).trim().empty() &&
         (constraints.contains("~{memory}") || constraints.contains('*'));
}

std::string Judge::unchecked_call(const llvm::CallBase& call) {
  if (const auto* assembly = dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    const bool names_none = llvm::StringRef(assembly->getAsmString()).trim().empty();
    return touches_memory(*assembly) || (!names_none && takes_shared_pointer(call)) ? "assembly" : "";
  }
  if (call.doesNotAccessMemory() || call.onlyAccessesInaccessibleMemory() || !takes_shared_pointer(call))
    return "";
  if (const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&call)) {
    const llvm::Intrinsic::ID number = intrinsic->getIntrinsicID();
    if (intrinsic->isAssumeLikeIntrinsic() || number == llvm::Intrinsic::stackrestore) return "";
    return "the intrinsic " + intrinsic->getCalledFunction()->getName().str();
  }
  const auto* callee = dyn_cast<llvm::GlobalValue>(call.getCalledOperand()->stripPointerCasts());
  if (callee == nullptr) return "a call by pointer";
  if (!callee->isDeclaration()) return "";
  llvm::LibFunc known;
  const auto* function = dyn_cast<llvm::Function>(callee);
  const bool frees = function != nullptr && library_.getLibFunc(*function, known) &&
                     llvm::isLibFreeFunction(function, known);
  return frees || is_of_runtime(callee->getName()) ? "" : "a call of " + callee->getName().str();
}

std::string Judge::unchecked(llvm::Instruction& instruction) {
  llvm::SmallVector<Touch, 4> touches;
  if (is_entry(instruction) || append_touches(instruction, library_, touches)) return "";
  if (const auto* call = dyn_cast<llvm::CallBase>(&instruction)) return unchecked_call(*call);
  return std::string("an instruction ") + instruction.getOpcodeName();
}

}  // namespace

std::string why_incomplete(llvm::Module& module, const SyncFree::Libraries& libraries) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) continue;
    if (function.hasFnAttribute(llvm::Attribute::Naked)) return "assembly in " + function.getName().str();
    Judge judge(libraries(function));
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const std::string part = judge.unchecked(instruction);
      if (!part.empty()) return part + " " + place_of(instruction);
    }
  }
  return module.getModuleInlineAsm().empty() ? "" : "assembly outside of functions";
}

}  // namespace musubi::compiler
