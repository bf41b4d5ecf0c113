// The thread that runs the program: its stack, and with it its thread-local storage, lies in the shared
// space, because other ranks read and write what main's frames hold.
#pragma once

#include "image/start/job.h"

namespace musubi::image {

using Main = int (*)(int argument_count, char** arguments, char** environment);
// What old programs pass to the C library to run their constructors.
using Initialiser = void (*)(int argument_count, char** arguments, char** environment);

// Shares the static data, then runs the constructors that are held back, `initialiser` if it is not null and
// `main` on rank 0, and the work that rank 0 gives out on the others. Collective; called by the initial
// thread in place of main. The initial thread sleeps from then on.
[[noreturn]] void run_program(Job& job, Main main, Initialiser initialiser, int argument_count,
                              char** arguments);

}  // namespace musubi::image
