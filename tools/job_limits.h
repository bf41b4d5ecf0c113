// Applies the limits of the shell to a job: stacks as large as the limit allows, and an error before the
// start if a limit does not allow the address space that each rank reserves.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "config/configuration.h"

namespace musubi::tools {

// Unless the setting stack_bytes is given: makes it the largest of its default, OMP_STACKSIZE and the limit
// on the stack, as far as so many stacks fit.
void follow_stack_limit(config::Configuration& configuration, std::uint32_t ranks);

// Errors: the ranks' addresses do not fit the processor, or exceed a limit of this process. The text says
// what to do.
Result<void> check_addresses(const config::Settings& settings, std::uint32_t ranks);

}  // namespace musubi::tools
