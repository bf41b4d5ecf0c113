// Copies to and from memory that other threads and ranks access at the same time.
#pragma once

#include <cstddef>

namespace musubi::fabric {

// No aligned piece of 2, 4 or 8 bytes of the shared side is torn, at any alignment of the other side.
// `shared` is the shared side: `source` or `destination`. The sides do not overlap. Signal-safe.
void copy_words(void* destination, const void* source, std::size_t bytes, const void* shared) noexcept;

}  // namespace musubi::fabric
