// What the kernel decides when it executes a program: where its libraries and mappings lie. Ranks need them
// where they usually are, above the shared range, and at the same addresses at each rank.
//
// A large limit on the stack, or none, moves libraries far down: the kernel leaves room for such a stack. So
// a rank is executed with a limit that moves nothing, and gets the user's back when it has begun.
#pragma once

#include <cstdint>

namespace musubi::bootstrap::local {

// Makes this process ask for the usual layout at its next exec. Result: the soft limit on the stack before
// that. Sets `fixed` to whether the kernel lets addresses be the same each time.
std::uint64_t ask_for_usual_layout(bool& fixed) noexcept;

// Whether the kernel laid out this process as ask_for_usual_layout asks. REQUIRES: nothing has changed the
// limit on the stack since the exec.
bool has_usual_layout() noexcept;

// Sets the soft limit on the stack, which changes no addresses any more.
void set_stack_limit(std::uint64_t bytes) noexcept;

}  // namespace musubi::bootstrap::local
