#pragma once

#include <vector>

#include "options.h"
#include "ranges.h"

namespace musubi::compiler {

// Emits the tests of ranges, before their places, marks the accesses that need no check any more (covered.h),
// and drops the promises of the function's attributes about memory. Removes ranges whose bounds cannot be
// computed there. The analyses of the function end here. Ranges of outer loops must come first.
void emit(llvm::Function& function, std::vector<Range>& ranges, llvm::ScalarEvolution& evolution, Mode mode);

}  // namespace musubi::compiler
