// Where the kernel places libraries and mappings when it executes a program. Ranks need them in the usual
// place, above the shared range, and at the same addresses at each rank.
//
// A large or unlimited stack limit moves libraries far down, because the kernel leaves room for such a stack.
// So a rank is executed with a limit that moves nothing, and restores the user's limit after it has started.
#pragma once

#include <cstdint>

namespace musubi::bootstrap::local {

// Makes this process ask for the usual layout at its next exec. Result: the previous soft stack limit. Sets
// `fixed` to whether the kernel can keep addresses the same in each execution.
std::uint64_t ask_for_usual_layout(bool& fixed) noexcept;

// Whether the kernel laid out this process as ask_for_usual_layout asks. REQUIRES: the stack limit has not
// changed since the exec.
bool has_usual_layout() noexcept;

// Sets the soft stack limit; addresses no longer depend on it.
void set_stack_limit(std::uint64_t bytes) noexcept;

}  // namespace musubi::bootstrap::local
