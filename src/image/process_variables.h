// Whether several processes may share the program's copies of variables that a library keeps to each process.
#pragma once

#include <string>

#include "image/elf_image.h"
#include "image/library_choice.h"

namespace musubi::image {

// Why the ranks of one host may not map one memory, for the user; empty: they may, where the copies hold the
// same bytes in each process. `globals` are those of find_shared_globals().
std::string reason_against_one_memory(const Globals& globals, const LibraryChoice& choice);

}  // namespace musubi::image
