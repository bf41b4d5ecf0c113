#pragma once

#include <functional>

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"

namespace musubi::compiler {

// The functions of a module that do not synchronise threads. It begins with all of them and takes away those
// that have a kill, until none is left to take (the greatest fixpoint): recursion alone is no kill.
class SyncFree {
 public:
  using Libraries = std::function<const llvm::TargetLibraryInfo&(llvm::Function&)>;
  SyncFree(llvm::Module& module, const Libraries& libraries);

  // Whether threads may synchronise in the instruction: it is atomic, volatile or a fence, assembly with
  // effects, or a call of a function that is not known to be free, or that returns twice. Calls of entries
  // are free.
  bool kills(const llvm::Instruction& instruction) const;

 private:
  bool is_quiet_call(const llvm::CallBase& call) const;
  bool has_kill(llvm::Function& function) const;

  llvm::SmallPtrSet<const llvm::Function*, 32> free_;  // defined here
  llvm::SmallPtrSet<const llvm::Function*, 32> library_;
};

}  // namespace musubi::compiler
