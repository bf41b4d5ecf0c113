// `musubi doctor <program>`: lists the atomics and fences in its file, how a job would serve them, and the
// checks of its objects.
#pragma once

#include <string>

namespace musubi::tools {

// Prints the list. Result: the exit status of the command.
int examine_program(const std::string& program, bool as_json);

}  // namespace musubi::tools
