// Reductions over tasks, as LLVM's interface describes them: variables with functions that initialise,
// combine and destroy a thread's copy.
#pragma once

namespace musubi::omp::kmp {

// Ends the calling task's innermost group: waits for its tasks, then combines the copies into the variables.
void end_group_with_reductions();

}  // namespace musubi::omp::kmp
