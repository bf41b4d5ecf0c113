// What a rank answers to another that asks for one of its descriptors.
#pragma once

namespace musubi::image {

// Beside the flags of the descriptor (FD_CLOEXEC).
inline constexpr int given_regular = 1 << 8;  // it is a regular file

// In place of a number: the opener is on another host, and keeps its file.
inline constexpr int of_other_host = -2;

}  // namespace musubi::image
