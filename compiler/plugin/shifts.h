#pragma once

#include "llvm/IR/PassManager.h"

namespace musubi::compiler {

// Writes `x << y` as `x * (1 << y)` where x changes in a loop and y does not: indices that are such shifts
// are affine then, for SCEV reads products alone. Later passes make shifts again.
class Shifts : public llvm::PassInfoMixin<Shifts> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& manager);
};

}  // namespace musubi::compiler
