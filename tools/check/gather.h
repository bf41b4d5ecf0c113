// Collects the facts about a program from its file and its libraries.
#pragma once

#include <string>

#include "base/result.h"
#include "check/facts.h"
#include "config/settings.h"

namespace musubi::tools::check {

// Starts the dynamic linker, which lists the libraries, and no code of the program. Blocks; decoding large
// libraries takes seconds. `path`: of a file. Errors: the file cannot be read, or is damaged.
Result<Facts> gather(const std::string& path, const config::Settings& settings);

}  // namespace musubi::tools::check
