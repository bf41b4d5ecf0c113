#pragma once

#include <vector>

#include "llvm/IR/Dominators.h"
#include "ranges.h"
#include "src/checks/abi.h"

namespace musubi::compiler {

// In mode hint, pages protect the memory, and no block is smaller.
inline constexpr unsigned kGranuleShift = MUSUBI_CHECKS_GRANULE_SHIFT_MAX;
inline constexpr int64_t kGranuleBytes = int64_t{1} << kGranuleShift;

// Emits the tests of ranges, before their places, and drops what the function's attributes promised about
// memory. Removes ranges whose bounds cannot be computed there. The analyses of the function end here.
// Ranges of outer loops must come first.
void emit(llvm::Function& function, std::vector<Range>& ranges, llvm::ScalarEvolution& evolution);

}  // namespace musubi::compiler
