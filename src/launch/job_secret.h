// The secret of a job, by which connections between its ranks are authenticated.
#pragma once

#include <string>

#include "base/result.h"

namespace musubi::launch {

// 32 new random bytes from the kernel. They are passed to ranks only through inherited sockets: never in
// arguments, the environment or a file. Errors: the kernel provides none.
Result<std::string> make_secret();

}  // namespace musubi::launch
