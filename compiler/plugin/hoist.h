#pragma once

#include "guards.h"
#include "loop_facts.h"

namespace musubi::compiler {

struct Hoisted {
  Range range;                 // before the loop
  llvm::StringRef hindrance;   // if not empty: the range cannot leave the loop, for this reason
  bool may_be_sparse = false;  // a guard at run time decides whether the range is dense enough
};

// Takes ranges out of loops: the result covers the range of each iteration in which it is touched.
class Hoister {
 public:
  Hoister(llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators)
      : evolution_(evolution), dominators_(dominators) {}

  // `range` is known at a place inside the loop, whose facts have a last iteration.
  Hoisted out_of(const LoopFacts& facts, const Range& range) const;

 private:
  llvm::StringRef take_guards(const LoopFacts& facts, const Range& from, Range& range) const;
  llvm::StringRef take_hull(const LoopFacts& facts, const Range& from, Hoisted& hoisted) const;
  llvm::StringRef judge_stride(const Range& from, const llvm::SCEV* stride, const llvm::SCEV* bytes,
                               Hoisted& hoisted) const;
  const llvm::SCEV* lower(const Ends& ends) const;
  const llvm::SCEV* upper(const Ends& ends) const;

  llvm::ScalarEvolution& evolution_;
  const llvm::DominatorTree& dominators_;
};

}  // namespace musubi::compiler
