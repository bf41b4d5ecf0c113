// Where functions lie in an object's file, by its symbols and by its tables for unwinding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atomics/site.h"

namespace musubi::atomics {

// The functions of the file at `path` that is loaded at `base` (0: at its own addresses); without bytes where
// only the first instruction is known. In no order, some twice. Empty when the file cannot be read.
std::vector<CodeRange> functions_of(const std::string& path, std::uintptr_t base);

}  // namespace musubi::atomics
