#pragma once

#include "complete.h"
#include "llvm/IR/Module.h"
#include "options.h"

namespace musubi::compiler {

// Adds the note that says by which contract, and for which mode, the module was compiled: the section of
// src/checks/abi.h, which linkers keep and gather in the segment PT_NOTE. The object is complete if the mode
// checks stores and no reason is given.
void add_note(llvm::Module& module, Mode mode, const Completeness& completeness);

}  // namespace musubi::compiler
