#pragma once

#include "llvm/IR/Module.h"

namespace musubi::compiler {

// Tells the runtime which atomic operations order nothing but their own word by their source, which machine
// code does not show (MUSUBI_CHECKS_RELAXED_SECTION). Fences of acquire and release, which are no instruction
// of x86, become sequentially consistent: otherwise the order of the program would be lost between ranks.
void mark_orders(llvm::Module& module);

}  // namespace musubi::compiler
