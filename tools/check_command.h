// `musubi check PROGRAM`: says of a program, without running it, what a job over several hosts serves
// exactly, as well as it can, or not at all.
#pragma once

#include <string>

namespace musubi::tools {

// Prints the answer. Result: the exit status of the command: 0 if `musubi run` would start a job of several
// ranks, 1 if it would refuse the program, 2 for a wrong setting, 126 and 127 as for shells.
int check_program(const std::string& program, bool as_json);

}  // namespace musubi::tools
