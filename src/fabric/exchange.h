// Exchanges between the ranks when drivers open: all ranks succeed or fail together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace musubi::fabric {

// Collective: gives every rank the blobs of all ranks, by rank.
using Exchange = std::function<Result<std::vector<std::string>>(std::string_view blob)>;

// Errors: the number of blobs is not `ranks`. The message names the blobs by `what` and tells the user to
// start all ranks by `launcher`.
Result<void> expect_from_all(const std::vector<std::string>& blobs, std::size_t ranks, std::string_view what,
                             std::string_view launcher);

// The error of a rank that was built from other sources.
Error other_build(std::uint32_t rank);

// Collective: every rank passes its own outcome; if one failed, all fail with the same message.
Result<void> agree(const Result<void>& own, const Exchange& exchange);

}  // namespace musubi::fabric
