// __libc_start_main: called by the program's first instructions, after the constructors of its libraries and
// before its own.
#include <cstdlib>

#include "image/job.h"
#include "image/loaded_objects.h"
#include "image/main_thread.h"
#include "image/program_exit.h"
#include "image/real_function.h"
#include "image/symbols/exported.h"

namespace {

using musubi::image::Main;

// The C library calls what it is given with three arguments and no room for ours.
constinit Main main_of_program = nullptr;

int run_instead_of_main(int argument_count, char** arguments, char**) {
  musubi::image::run_program(*musubi::image::current_job(), main_of_program, argument_count, arguments);
}

}  // namespace

MUSUBI_EXPORT int __libc_start_main(Main main, int argument_count, char** arguments, void (*init)(),
                                    void (*fini)(), void (*linker_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(musubi::image::next_definition("__libc_start_main"));
  if (start == nullptr) std::abort();
  if (musubi::image::program_uses_openmp()) {
    main_of_program = main;
    main = run_instead_of_main;
    musubi::image::register_end_of_job();
    musubi::image::join_job();
  }
  return start(main, argument_count, arguments, init, fini, linker_fini, stack_end);
}
