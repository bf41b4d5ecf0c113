// Finds the functions in an object's file, by its symbols and its unwind tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atomics/site.h"

namespace musubi::atomics {

// The functions of the file at `path` that is loaded at `base` (0: at its own addresses), with 0 bytes if
// only the first instruction is known. In no order, some twice. Empty if the file cannot be read.
std::vector<CodeRange> functions_of(const std::string& path, std::uintptr_t base);

}  // namespace musubi::atomics
