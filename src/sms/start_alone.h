// A program of sms.h that was started alone may ask for other processes after `--` on its command line.
// `musubi run` then starts it again, with all processes.
#pragma once

#include <cstdint>

namespace musubi::sms {

// Returns if the command line has no `--`: then the program is one process. Otherwise becomes `musubi run`,
// with the same process id, or ends with a line. Called before other threads exist.
void start_others_if_asked(int argc, char** argv);

}  // namespace musubi::sms
