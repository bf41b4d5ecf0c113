#include "covered.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Metadata.h"

namespace musubi::compiler {

namespace {

llvm::StringRef name_of(bool writes) {
  return writes ? "musubi.written" : "musubi.read";
}

bool is_mark(const llvm::Metadata* scope, llvm::StringRef name) {
  const auto* node = llvm::dyn_cast_or_null<llvm::MDNode>(scope);
  return node != nullptr && llvm::AliasScopeNode(node).getName() == name;
}

// One scope of each kind per module: a named node of the module keeps them.
llvm::MDNode* mark_of(llvm::Module& module, bool writes) {
  llvm::NamedMDNode* marks = module.getOrInsertNamedMetadata("musubi.marks");
  for (llvm::MDNode* mark : marks->operands())
    if (is_mark(mark, name_of(writes))) return mark;
  llvm::MDBuilder builder(module.getContext());
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain(name_of(writes));
  llvm::MDNode* mark = builder.createAnonymousAliasScope(domain, name_of(writes));
  marks->addOperand(mark);
  return mark;
}

}  // namespace

void mark_covered(llvm::Instruction& access, bool writes) {
  llvm::MDNode* list = llvm::MDNode::get(access.getContext(), {mark_of(*access.getModule(), writes)});
  llvm::MDNode* old = access.getMetadata(llvm::LLVMContext::MD_alias_scope);
  access.setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::concatenate(old, list));
}

bool is_covered(const llvm::Instruction& access, bool writes) {
  const llvm::MDNode* scopes = access.getMetadata(llvm::LLVMContext::MD_alias_scope);
  if (scopes == nullptr) return false;
  for (const llvm::MDOperand& scope : scopes->operands())
    if (is_mark(scope.get(), name_of(writes))) return true;
  return false;
}

}  // namespace musubi::compiler
