// What tells builds of Musubi apart.
#pragma once

#include <string>

namespace musubi::runtime {

// The note that the linker left in the library (or program) that the runtime is a part of, as bytes; empty
// without one.
std::string own_build();

}  // namespace musubi::runtime
