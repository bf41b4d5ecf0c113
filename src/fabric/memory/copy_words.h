// Copies memory that other threads access concurrently.
#pragma once

#include <cstddef>

namespace musubi::fabric {

// Copies so that no aligned piece of 2, 4 or 8 bytes of the shared side is torn, at any alignment of the
// other side. `shared` is the shared side: `source` or `destination`. The sides do not overlap. Signal-safe.
void copy_words(void* destination, const void* source, std::size_t bytes, const void* shared) noexcept;

}  // namespace musubi::fabric
