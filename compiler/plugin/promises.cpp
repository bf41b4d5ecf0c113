#include "promises.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/InstrTypes.h"

namespace musubi::compiler {

void drop_promises(llvm::ArrayRef<llvm::Function*> changed) {
  llvm::AttributeMask promises;
  promises.addAttribute(llvm::Attribute::Memory)
      .addAttribute(llvm::Attribute::NoSync)
      .addAttribute(llvm::Attribute::Speculatable);
  llvm::SmallVector<llvm::Function*> open(changed);
  llvm::SmallPtrSet<llvm::Function*, 8> seen(changed.begin(), changed.end());
  while (!open.empty()) {
    llvm::Function* function = open.pop_back_val();
    function->removeFnAttrs(promises);
    for (llvm::User* user : function->users()) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call == nullptr) continue;
      call->removeFnAttrs(promises);
      if (seen.insert(call->getFunction()).second) open.push_back(call->getFunction());
    }
  }
}

}  // namespace musubi::compiler
