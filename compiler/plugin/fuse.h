#pragma once

#include <vector>

#include "ranges.h"

namespace musubi::compiler {

// Joins ranges of one place (with `at_blocks`: of one basic block) and one base whose bounds differ by
// constants: reads to one hull, as those of a stencil; writes only where they touch, for a hull must not
// name bytes that are not written. A read inside a write is dropped.
void fuse(std::vector<Range>& ranges, bool at_blocks, llvm::ScalarEvolution& evolution);

}  // namespace musubi::compiler
