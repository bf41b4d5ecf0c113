#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Dominators.h"
#include "ranges.h"

namespace musubi::compiler {

// The value of an expression in the first and in the last iteration of a loop.
struct Ends {
  const llvm::SCEV* first;
  const llvm::SCEV* last;
  const llvm::SCEV* step;  // 0 if the expression is invariant; null if it is neither invariant nor affine
};

Ends ends_of(const llvm::SCEV* value, llvm::Loop& loop, const llvm::SCEV* last_iteration,
             llvm::ScalarEvolution& evolution);

// The conditions of branches under which a block runs in an iteration of a loop.
struct Conditions {
  llvm::SmallVector<Guard, 2> guards;
  bool complete = true;        // otherwise there are more, which are no comparisons
  bool only_of_branch = true;  // no branch but `allowed` decides
};

// `block` lies in the loop. `allowed` may be null.
Conditions conditions_of(llvm::BasicBlock& block, llvm::Loop& loop, const llvm::BranchInst* allowed,
                         const llvm::DominatorTree& dominators, llvm::ScalarEvolution& evolution);

// The guard before a loop that holds if a guard holds in some iteration.
struct GuardBefore {
  Guard guard;           // empty: none is known
  bool varies = false;   // it is not the same in all iterations
  bool may_err = false;  // a value may wrap on its way: the guard may fail although it holds in the middle
};

GuardBefore guard_before(const Guard& guard, llvm::Loop& loop, const llvm::SCEV* last_iteration,
                         llvm::ScalarEvolution& evolution);

}  // namespace musubi::compiler
