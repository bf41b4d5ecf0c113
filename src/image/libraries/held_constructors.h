// Defers the constructors of the program and its libraries: they run once in the job, after heap and static
// data are shared.
#pragma once

#include <link.h>

#include <vector>

namespace musubi::image {

// Arguments passed to constructors.
struct ProgramArguments {
  int count = 0;
  char** strings = nullptr;
  char** environment = nullptr;
};

// Hides the constructors of `object` from the dynamic linker. REQUIRES: it is mapped, and they have not run.
// Allocates nothing and reads no object that needs a constructor. Beyond 4096 objects at a time, constructors
// run as usual. All functions here: one thread at a time.
void hold_constructors(link_map& object) noexcept;

// Reverts it, so that the dynamic linker or the C library runs them.
void give_back_constructors(const link_map& object) noexcept;

// Forgets an object that failed to load. Its memory may be gone.
void forget_constructors(const link_map* object) noexcept;

// Runs the deferred constructors of these objects, each after those of the objects that it needs. They may
// load further libraries.
void run_constructors(const std::vector<link_map*>& objects, const ProgramArguments& arguments);

// Runs the destructors of these objects (DT_FINI_ARRAY, DT_FINI), as the dynamic linker would at exit().
void run_destructors(const std::vector<link_map*>& objects);

}  // namespace musubi::image
