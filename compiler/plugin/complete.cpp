#include "complete.h"

#include "filter.h"
#include "library_calls.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/ValueTracking.h"
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
  Judge(const llvm::TargetLibraryInfo& library, Completeness& found) : library_(library), found_(found) {}

  // The part of an instruction that has no check, or an empty text. Adds calls to those found.
  std::string unchecked(llvm::Instruction& instruction);

 private:
  bool may_be_shared(const llvm::Value& pointer);
  bool takes_shared_pointer(const llvm::CallBase& call, int left_out);
  std::string unchecked_call(const llvm::CallBase& call);

  const llvm::TargetLibraryInfo& library_;
  Completeness& found_;
  Filter filter_;
};

bool is_argument_of_main(const llvm::Value& value) {
  const auto* argument = dyn_cast<llvm::Argument>(&value);
  return argument != nullptr && argument->getParent()->getName() == "main";
}

// Arguments of main, also where they lie in a variable, and strings that the C library hands out, are in
// memory of the process.
bool is_of_process(const llvm::Value& object) {
  if (isa<llvm::AllocaInst>(object))
    return llvm::any_of(object.users(), [](const llvm::User* user) {
      const auto* store = dyn_cast<llvm::StoreInst>(user);
      return store != nullptr && is_argument_of_main(*store->getValueOperand());
    });
  if (is_argument_of_main(object)) return true;
  const auto* load = dyn_cast<llvm::LoadInst>(&object);
  if (load == nullptr) return false;
  const llvm::Value* from = llvm::getUnderlyingObject(load->getPointerOperand());
  const auto* global = dyn_cast<llvm::GlobalVariable>(from);
  return global != nullptr ? global->isDeclaration() && is_of_c_library(global->getName())
                           : is_of_process(*from);
}

bool Judge::may_be_shared(const llvm::Value& pointer) {
  if (!pointer.getType()->isPointerTy()) return true;
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(&pointer, objects);
  return llvm::any_of(objects, [&](const llvm::Value* object) {
    return !isa<llvm::ConstantPointerNull>(object) && !filter_.is_private(*object) && !is_of_process(*object);
  });
}

bool Judge::takes_shared_pointer(const llvm::CallBase& call, int left_out) {
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value* argument = call.getArgOperand(i);
    if (static_cast<int>(i) == left_out || !argument->getType()->isPtrOrPtrVectorTy() ||
        call.isByValArgument(i) || call.doesNotAccessMemory(i) ||
        isa<llvm::ConstantPointerNull, llvm::Function, llvm::UndefValue>(argument))
      continue;
    if (may_be_shared(*argument)) return true;
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
    return touches_memory(*assembly) || (!names_none && takes_shared_pointer(call, -1)) ? "assembly" : "";
  }
  const auto* callee = dyn_cast<llvm::GlobalValue>(call.getCalledOperand()->stripPointerCasts());
  if (callee != nullptr && callee->getName() == "dlsym") return "a call of dlsym";
  const int stream = callee != nullptr ? stream_argument(callee->getName()) : -1;
  if (call.doesNotAccessMemory() || call.onlyAccessesInaccessibleMemory() ||
      !takes_shared_pointer(call, stream))
    return "";
  if (const auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&call)) {
    const llvm::Intrinsic::ID number = intrinsic->getIntrinsicID();
    if (intrinsic->isAssumeLikeIntrinsic() || number == llvm::Intrinsic::stackrestore) return "";
    return "the intrinsic " + intrinsic->getCalledFunction()->getName().str();
  }
  // A call by pointer calls one of the functions whose addresses are taken, here or in another file.
  if (callee == nullptr || !callee->isDeclaration()) return "";
  llvm::LibFunc known;
  const auto* function = dyn_cast<llvm::Function>(callee);
  const bool frees = function != nullptr && library_.getLibFunc(*function, known) &&
                     llvm::isLibFreeFunction(function, known);
  if (!frees && !is_of_runtime(callee->getName()))
    found_.calls.push_back({callee->getName().str(), place_of(call)});
  return "";
}

std::string Judge::unchecked(llvm::Instruction& instruction) {
  llvm::SmallVector<Touch, 4> touches;
  if (is_entry(instruction) || append_touches(instruction, library_, touches)) return "";
  if (const auto* call = dyn_cast<llvm::CallBase>(&instruction)) return unchecked_call(*call);
  return std::string("an instruction ") + instruction.getOpcodeName();
}

bool is_table_of_class(const llvm::GlobalValue& value) {
  return value.getName().starts_with("_ZTV");
}

// Functions of other files that may be called by pointer: as values, or by tables of virtual functions.
void add_addresses(const llvm::Module& module, Completeness& found) {
  for (const llvm::Function& function : module) {
    const bool is_taken =
        function.isDeclaration() && !function.isIntrinsic() && !is_of_runtime(function.getName()) &&
        llvm::any_of(function.uses(), [](const llvm::Use& use) {
          const auto* call = dyn_cast<llvm::CallBase>(use.getUser());
          return call != nullptr ? !call->isCallee(&use) : !isa<llvm::Function>(use.getUser());
        });
    if (is_taken) found.calls.push_back({function.getName().str(), "by pointer"});
  }
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration() && is_table_of_class(variable))
      found.calls.push_back({variable.getName().str(), "by pointer"});
  }
}

void add_definitions(const llvm::Module& module, Completeness& found) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.hasAvailableExternallyLinkage() && !function.hasLocalLinkage())
      found.definitions.push_back(function.getName().str());
  }
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.isDeclaration() && !variable.hasAvailableExternallyLinkage() && is_table_of_class(variable))
      found.definitions.push_back(variable.getName().str());
  }
}

std::string first_unchecked(llvm::Module& module, const SyncFree::Libraries& libraries, Completeness& found) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) continue;
    if (function.hasFnAttribute(llvm::Attribute::Naked)) return "assembly in " + function.getName().str();
    Judge judge(libraries(function), found);
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const std::string part = judge.unchecked(instruction);
      if (!part.empty()) return part + " " + place_of(instruction);
    }
  }
  return module.getModuleInlineAsm().empty() ? "" : "assembly outside of functions";
}

}  // namespace

Completeness completeness_of(llvm::Module& module, const SyncFree::Libraries& libraries) {
  Completeness found;
  found.why_not = first_unchecked(module, libraries, found);
  add_addresses(module, found);
  // One call of each name, the first.
  llvm::StringSet<> names;
  llvm::erase_if(found.calls,
                 [&](const Completeness::Call& call) { return !names.insert(call.name).second; });
  add_definitions(module, found);
  return found;
}

}  // namespace musubi::compiler
