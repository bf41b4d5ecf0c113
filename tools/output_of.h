// Runs a program for its output.
#pragma once

#include <string>
#include <vector>

namespace musubi::tools {

// The program's output on stdout, and with `with_errors` also on stderr; nothing if it cannot be started, or
// fails. Blocks until it has ended. `words`: its path first.
std::string output_of(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                      bool with_errors = false);

}  // namespace musubi::tools
