// A program of sms.h that was started by itself: it may ask for other processes behind `--` on its command
// line. Then `musubi run` starts it anew, with all of them.
#pragma once

#include <cstdint>

namespace musubi::sms {

// Returns if the command line has no `--`: then the program is one process. Otherwise it becomes the command,
// with the same process id, or ends with a line. Before other threads exist.
void start_others_if_asked(int argc, char** argv);

}  // namespace musubi::sms
