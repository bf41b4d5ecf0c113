// A rank's answer to another rank that asks for one of its descriptors.
#pragma once

namespace musubi::image {

// Added to the flags of the descriptor (FD_CLOEXEC).
inline constexpr int given_regular = 1 << 8;  // it is a regular file

// Replaces a number: the opener is on another host, and keeps its file.
inline constexpr int of_other_host = -2;

}  // namespace musubi::image
