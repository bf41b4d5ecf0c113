#pragma once

#include "llvm/IR/Value.h"

namespace musubi::compiler {

// Whether no other thread can see the memory at `pointer`: a local variable whose address does not leave the
// function, a constant, or storage of one thread. Everything else may be shared: in programs of Musubi,
// globals, heap and stacks are.
bool is_private(const llvm::Value& pointer);

}  // namespace musubi::compiler
