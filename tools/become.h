// Turns the command into another program.
#pragma once

#include <string>
#include <vector>

namespace musubi::tools {

// Executes the file at `path` in place of this process. `words`: its arguments, with its name as the first.
// Returns only if that fails, after printing the reason: `status`.
int become(const std::string& path, const std::vector<std::string>& words,
           const std::vector<std::string>& environment, int status);

}  // namespace musubi::tools
