// The team words that this layer uses, at rank 0, counted from the end; OpenMP uses the first ones.
#pragma once

#include <cstddef>

#include "runtime/api/runtime.h"

namespace musubi::image::job_words {

// Bytes by which the program's break has moved up from the beginning of its range.
inline constexpr std::size_t program_break = runtime::Words::count - 1;
// Address of the table of hsearch, or 0.
inline constexpr std::size_t search_table = runtime::Words::count - 2;
// Ranks that have made children, by bit (ranks beyond 63 share the last).
inline constexpr std::size_t ranks_with_children = runtime::Words::count - 3;

// Where strtok continues.
inline constexpr std::size_t rest_of_text = runtime::Words::count - 4;

}  // namespace musubi::image::job_words
