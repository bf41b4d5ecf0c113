// Names for addresses of a running process, from its executable, its libraries and their debug information,
// by elfutils' libdw. In the launcher, because a rank that crashes or hangs can read nothing any more.
#pragma once

#include <memory>

#include "launch/launch_plan.h"

namespace musubi::tools {

// Of libmusubi-places.so. Null when the process cannot be looked at. The caller deletes it.
inline constexpr char places_library[] = "libmusubi-places.so";
extern "C" launch::Places* musubi_find_places(pid_t process);

// Loads that library when first called. Null, said once, when it or libdw is not there.
std::unique_ptr<launch::Places> find_places(pid_t process);

}  // namespace musubi::tools
