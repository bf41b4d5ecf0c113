// `musubi doctor <program>`: lists the atomics and fences in its file, and how a job would serve them.
#pragma once

#include <string>

namespace musubi::tools {

// Prints the list. Result: the exit status of the command.
int examine_program(const std::string& program, bool as_json);

}  // namespace musubi::tools
