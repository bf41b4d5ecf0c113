#pragma once

#include <optional>

#include "guards.h"
#include "loop_facts.h"

namespace musubi::compiler {

struct Hoisted {
  Range range;                 // before the loop
  llvm::StringRef hindrance;   // if not empty: the range cannot leave the loop, for this reason
  bool varies = false;         // its accesses do not happen in each iteration
  bool is_sparse = false;      // that is the hindrance: the bounds are right
  bool may_be_sparse = false;  // it may be left out at run time: the range in the loop stays for that case
};

// Takes ranges out of loops: the result covers the range of each iteration in which it is touched.
class Hoister {
 public:
  Hoister(llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators)
      : evolution_(evolution), dominators_(dominators) {}

  // `range` is known at a place inside the loop, whose facts have a last iteration. `checks`: it is a check,
  // not a hint.
  Hoisted out_of(const LoopFacts& facts, const Range& range, bool checks) const;

 private:
  llvm::StringRef take_guards(const LoopFacts& facts, const Range& from, Hoisted& hoisted) const;
  llvm::StringRef take_hull(const LoopFacts& facts, const Range& from, Hoisted& hoisted) const;
  llvm::StringRef judge_stride(const llvm::SCEV* stride, const llvm::SCEV* bytes, Hoisted& hoisted) const;
  void take_rows(const LoopFacts& facts, const Range& from, bool checks, Hoisted& hoisted) const;
  std::optional<Rows> rows_of(const LoopFacts& facts, Rows rows) const;
  const llvm::SCEV* distance(const Ends& ends) const {
    return evolution_.getMinusSCEV(ends.last, ends.first);
  }
  const llvm::SCEV* no_distance(const Ends& ends) const { return evolution_.getZero(ends.first->getType()); }
  const llvm::SCEV* lower(const Ends& ends) const;
  const llvm::SCEV* upper(const Ends& ends) const;

  llvm::ScalarEvolution& evolution_;
  const llvm::DominatorTree& dominators_;
};

}  // namespace musubi::compiler
