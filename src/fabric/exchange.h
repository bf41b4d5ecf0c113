// What drivers use when they open: all ranks tell each other something, and succeed or fail together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace musubi::fabric {

// Collective: gives every rank's blob to every rank, by rank.
using Exchange = std::function<Result<std::vector<std::string>>(std::string_view blob)>;

// Errors: there is not one of the blobs, which are `what`, for each rank. `launcher`: what the user is told
// to start ranks by.
Result<void> expect_from_all(const std::vector<std::string>& blobs, std::size_t ranks, std::string_view what,
                             std::string_view launcher);

// What is wrong with a rank that was built from other sources.
Error other_build(std::uint32_t rank);

// Collective: every rank says whether it succeeded, so that all fail with the same line if one does.
Result<void> agree(const Result<void>& own, const Exchange& exchange);

}  // namespace musubi::fabric
