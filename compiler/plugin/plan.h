#pragma once

#include <string>
#include <vector>

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "options.h"
#include "ranges.h"
#include "sync_free.h"

namespace musubi::compiler {

// An access in a loop that no range covers, or whose range stays in a loop.
struct Left {
  llvm::Instruction* instruction;
  bool writes;
  std::string reason;
};

// The ranges of a function and the accesses left over.
struct Plan {
  std::vector<Range> ranges;  // those of outer loops first
  std::vector<Left> left;
};

struct Analyses {
  llvm::ScalarEvolution& evolution;
  llvm::LoopInfo& loops;
  llvm::DominatorTree& dominators;
  llvm::AAResults& aliases;
  const SyncFree& free;
  Mode mode;
};

// Finds the accesses in loops to memory that may be shared, and takes their ranges out of the loops, as far
// outward as they go. Changes nothing.
Plan plan_ranges(llvm::Function& function, const Analyses& analyses);

}  // namespace musubi::compiler
