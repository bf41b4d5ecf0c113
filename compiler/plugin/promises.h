#pragma once

#include "llvm/IR/Function.h"

namespace musubi::compiler {

// Takes from functions that reach a test now, their callers and the calls of both their promises about
// memory and threads.
void drop_promises(llvm::ArrayRef<llvm::Function*> changed);

}  // namespace musubi::compiler
