// Runs a program for what it prints.
#pragma once

#include <string>
#include <vector>

namespace musubi::tools {

// What the program prints on stdout, and, `with_errors`, on stderr; nothing when it cannot be started, or
// fails. Blocks until it has ended. `words`: its path first.
std::string output_of(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                      bool with_errors = false);

}  // namespace musubi::tools
