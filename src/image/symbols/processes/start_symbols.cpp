// The start of the program: __libc_start_main, which the program's first instructions call after its
// libraries are loaded, and the resolver that defers constructors before.
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "image/libraries/held_constructors.h"
#include "image/libraries/library_choice.h"
#include "image/libraries/loaded_objects.h"
#include "image/process/real_function.h"
#include "image/process/refusal.h"
#include "image/start/invited_environment.h"
#include "image/start/job.h"
#include "image/start/main_thread.h"
#include "image/start/program_exit.h"
#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"
#include "runtime/join_job.h"

namespace {

using namespace musubi::image;

// The C library calls main with three arguments, none of them ours.
constinit Main main_of_program = nullptr;
constinit Initialiser initialiser_of_program = nullptr;

int run_instead_of_main(int argument_count, char** arguments, char**) {
  run_program(*current_job(), main_of_program, initialiser_of_program, argument_count, arguments);
}

void initialise_nothing(int, char**, char**) {}

// For a process that is no rank: deferred constructors run as if they had not been deferred.
void start_plainly(const ProgramArguments& arguments) {
  if (musubi::runtime::is_invited()) musubi::runtime::give_back_stack_limit();
  keep_invitation();
  std::vector<link_map*> objects = linked_objects();
  // The C library runs those of the program itself.
  give_back_constructors(*objects.front());
  run_constructors(objects, arguments);
}

bool only_starts_others() {
  char path[PATH_MAX];
  const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 && musubi::image::only_starts_others({path, static_cast<std::size_t>(bytes)});
}

// Whether the process is a rank, or a program with OpenMP that was started without the launcher.
bool joins() {
  using musubi::image::uses_openmp;
  if (musubi::runtime::is_invited()) return uses_openmp() || !only_starts_others();
  if (!uses_openmp()) return false;
  if (musubi::runtime::is_below_invited()) {
    refuse(125,
           "a program with OpenMP was started by another program that is no part of the job: "
           "name the program itself, or let a shell `exec` it");
  }
  return true;
}

}  // namespace

MUSUBI_EXPORT int __libc_start_main(Main main, int argument_count, char** arguments, Initialiser init,
                                    void (*fini)(), void (*linker_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, Initialiser, void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(next_definition("__libc_start_main"));
  if (start == nullptr) std::abort();
  const ProgramArguments given{argument_count, arguments, environ};
  if (joins()) {
    if (musubi::runtime::is_invited()) musubi::runtime::start_again_if_misplaced(arguments);
    main_of_program = main;
    main = run_instead_of_main;
    if (init != nullptr) {
      initialiser_of_program = init;
      init = initialise_nothing;
      give_back_constructors(*linked_objects().front());
    }
    register_end_of_job();
    join_job(given).far_calls.set_functions(far_functions());
  } else {
    start_plainly(given);
  }
  return start(main, argument_count, arguments, init, fini, linker_fini, stack_end);
}

// Defers all constructors before the first of them runs. The dynamic linker calls the resolver of an indirect
// function while it relocates this library: at that time all objects are loaded and no constructor has run.
// The resolver must not use memory allocation or most of the C library.
namespace {

bool begins_with(const char* name, const char* beginning) {
  while (*beginning != '\0') {
    if (*name++ != *beginning++) return false;
  }
  return true;
}

// The C library initialises itself and this library; sanitizers must run first.
bool starts_itself(const char* path) {
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at) {
    if (*at == '/') name = at + 1;
  }
  for (const char* beginning : {"libc.so", "libc-", "ld-", "libm.so", "libm-", "libpthread", "librt.so",
                                "librt-", "libdl.so", "libdl-", "libmusubi", "libgcc_s", "libasan",
                                "libhwasan", "liblsan", "libtsan", "libubsan", "linux-"}) {
    if (begins_with(name, beginning)) return true;
  }
  return false;
}

void nothing_more() {}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) void (*musubi_hold_all_constructors())() {
  // The library was loaded later, by dlopen: the program has started.
  if (_r_debug.r_state != r_debug::RT_ADD) return nothing_more;
  for (link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_ld != nullptr && !starts_itself(object->l_name)) hold_constructors(*object);
  }
  return nothing_more;
}
__attribute__((visibility("hidden"), ifunc("musubi_hold_all_constructors"))) void
musubi_constructors_are_held();
// The reference that makes the dynamic linker call the resolver.
__attribute__((visibility("hidden"),
               used)) void (*const volatile musubi_constructors_anchor)() = musubi_constructors_are_held;
}
