#pragma once

#include "llvm/IR/Instructions.h"

namespace musubi::compiler {

// Marks by which the late phase knows accesses that a range before their loop has checked. They are scopes of
// `!alias.scope` that no access excludes, each in a domain of its own: passes that make one access of several
// keep the domains that all of them have, and drop metadata that they do not know.

void mark_covered(llvm::Instruction& access, bool writes);
bool is_covered(const llvm::Instruction& access, bool writes);

}  // namespace musubi::compiler
