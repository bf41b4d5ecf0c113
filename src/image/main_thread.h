// The thread that runs the program: its stack, and with it its thread-local storage, lies in the shared
// space, because other ranks read and write what main's frames hold.
#pragma once

#include "image/job.h"

namespace musubi::image {

using Main = int (*)(int argument_count, char** arguments, char** environment);

// Shares the globals, then runs `main` on rank 0, and the work that rank 0 gives out on the others.
// Collective; called by the initial thread in place of main, after the program's constructors. The initial
// thread sleeps from then on.
[[noreturn]] void run_program(Job& job, Main main, int argument_count, char** arguments);

}  // namespace musubi::image
