// Distinguishes builds of Musubi.
#pragma once

#include <string>

namespace musubi::runtime {

// The build id of the library or program that contains the runtime, as bytes; empty if the linker left none.
std::string own_build();

}  // namespace musubi::runtime
