// The thread that runs the program: its stack, and with it its thread-local storage, is in shared memory,
// because other ranks read and write main's frames.
#pragma once

#include "image/start/job.h"

namespace musubi::image {

using Main = int (*)(int argument_count, char** arguments, char** environment);
// Argument of __libc_start_main by which old programs run their constructors.
using Initialiser = void (*)(int argument_count, char** arguments, char** environment);

// Shares the static data, then runs the deferred constructors, `initialiser` if it is not null, and `main` on
// rank 0; the other ranks run the work that rank 0 gives out. Collective; called by the initial thread in
// place of main. The initial thread sleeps from then on.
[[noreturn]] void run_program(Job& job, Main main, Initialiser initialiser, int argument_count,
                              char** arguments);

}  // namespace musubi::image
