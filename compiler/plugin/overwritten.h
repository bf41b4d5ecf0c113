#pragma once

#include <vector>

#include "llvm/Analysis/AliasAnalysis.h"
#include "loop_facts.h"
#include "ranges.h"

namespace musubi::compiler {

// Decides which whole writes before a loop may drop the old bytes: `whole` becomes false unless the loop
// surely ends and reads none of them first. Reads whose ranges are known at the same place may be found to
// lie elsewhere at run time (`apart`). `ranges` holds all ranges before the loop, not yet fused; `sparse` the
// hulls of reads that are too sparse for one.
void decide_overwritten(const LoopFacts& facts, std::vector<Range>& ranges, const std::vector<Range>& sparse,
                        llvm::AAResults& aliases);

// The same for one intrinsic, whose bytes read (if it copies) have the range `source`, else null.
void decide_overwritten(Range& range, const Range* source);

}  // namespace musubi::compiler
