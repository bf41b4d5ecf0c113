// `musubi doctor <program>`: which atomics and fences its file holds, and how a job would serve them.
#pragma once

#include <string>

namespace musubi::tools {

// Prints it. Result: the exit status of the command.
int examine_program(const std::string& program, bool as_json);

}  // namespace musubi::tools
