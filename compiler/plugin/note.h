#pragma once

#include "llvm/IR/Module.h"

namespace musubi::compiler {

// Adds the note that says by which contract, and for which mode, the module was compiled: the section of
// src/checks/abi.h, which linkers keep and gather in the segment PT_NOTE.
void add_note(llvm::Module& module);

}  // namespace musubi::compiler
