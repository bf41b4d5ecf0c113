// The secret of a job, by which connections between its ranks prove that they belong to it.
#pragma once

#include <string>

#include "base/result.h"

namespace musubi::launch {

// New random bytes of the kernel, 32 of them. They go to the ranks through inherited sockets alone: never
// into arguments, the environment or a file. Errors: the kernel gives none.
Result<std::string> make_secret();

}  // namespace musubi::launch
