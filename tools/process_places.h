// Names for addresses of a running process, from its executable, its libraries and their debug information,
// by elfutils' libdw. Runs in the launcher, since a rank that has crashed or hangs can no longer read files.
#pragma once

#include <memory>

#include "launch/launch_plan.h"

namespace musubi::tools {

// A function of libmusubi-places.so. Null if the process cannot be inspected. The caller deletes it.
inline constexpr char places_library[] = "libmusubi-places.so";
extern "C" launch::Places* musubi_find_places(pid_t process);

// Loads that library on the first call. Null, after printing the reason once, if it or libdw is missing.
std::unique_ptr<launch::Places> find_places(pid_t process);

}  // namespace musubi::tools
