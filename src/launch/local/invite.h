// What the launcher puts into the environment of a rank.
#pragma once

#include <string>

#include "bootstrap/local/invitation.h"

namespace musubi::launch {

// The text that parse_invitation() reads.
std::string format_invitation(const bootstrap::local::Invitation& invitation);

}  // namespace musubi::launch
