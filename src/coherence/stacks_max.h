#pragma once

#include <cstddef>

namespace musubi::coherence {

// Of a rank: as many stacks as a team may have threads there, and one more.
inline constexpr std::size_t stacks_max = 4097;

}  // namespace musubi::coherence
