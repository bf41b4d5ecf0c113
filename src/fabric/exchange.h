// What drivers use when they open: all ranks tell each other something, and succeed or fail together.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace musubi::fabric {

// Collective: gives every rank's blob to every rank, by rank.
using Exchange = std::function<Result<std::vector<std::string>>(std::string_view blob)>;

// Collective: every rank says whether it succeeded, so that all fail with the same line if one does.
Result<void> agree(const Result<void>& own, const Exchange& exchange);

}  // namespace musubi::fabric
