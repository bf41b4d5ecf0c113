#pragma once

#include <vector>

#include "filter.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "options.h"
#include "permission.h"
#include "sync_free.h"
#include "touches.h"

namespace musubi::compiler {

// A check before an instruction. It is that of one touch, or if its kind is `bytes`, of a hull of neighbours:
// `bytes` from `touch.pointer` + `shift` on. Or it is the comparison of a value before a store that needs
// only permission to store: `compared` are the words of the value that may be UNWRITTEN (unwritten.h).
struct Point {
  Touch touch;
  int64_t shift;
  uint64_t bytes;
  Permission permission;
  unsigned compared = 0;
};

struct PointAnalyses {
  llvm::ScalarEvolution& evolution;
  const llvm::LoopInfo& loops;
  const llvm::DominatorTree& dominators;
  const llvm::PostDominatorTree& post_dominators;
  const llvm::TargetLibraryInfo& library;
  const SyncFree& free;
  Mode mode;
  bool home_only;  // stores may ask for permission to store alone
};

// Finds the accesses of a function that need a check: memory that may be shared, no range has covered it
// (covered.h), and no check before it is still good. Neighbours in a block have one. Result: in the order of
// blocks and instructions. Changes nothing.
std::vector<Point> plan_points(llvm::Function& function, const PointAnalyses& analyses);

}  // namespace musubi::compiler
