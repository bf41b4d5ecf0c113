// Names for addresses of a running process, from its executable, its libraries and their debug information,
// by elfutils' libdw. In the launcher, because a rank that crashes or hangs can read nothing any more.
#pragma once

#include <memory>

#include "bootstrap/local/places.h"

namespace musubi::tools {

// Null when the process cannot be looked at.
std::unique_ptr<bootstrap::Places> find_places(pid_t process);

}  // namespace musubi::tools
