// Constructors of the program and its libraries, held back from the dynamic linker: they are to run once in
// the job, when heap and static data are shared.
#pragma once

#include <link.h>

#include <vector>

namespace musubi::image {

// What constructors are called with.
struct ProgramArguments {
  int count = 0;
  char** strings = nullptr;
  char** environment = nullptr;
};

// Hides the constructors of `object` from the dynamic linker. REQUIRES: it is mapped, and they have not run.
// Allocates nothing and reads no object that needs a constructor. More than 4096 at a time run as usual.
// All of these: one thread at a time.
void hold_constructors(link_map& object) noexcept;

// Undoes it, so that the dynamic linker or the C library runs them.
void give_back_constructors(const link_map& object) noexcept;

// Forgets an object that could not be loaded after all. It may be gone.
void forget_constructors(const link_map* object) noexcept;

// Runs the constructors that are held back of these objects, each behind those of the objects that it needs.
// They may load further libraries.
void run_constructors(const std::vector<link_map*>& objects, const ProgramArguments& arguments);

// Runs the destructors of these objects (DT_FINI_ARRAY, DT_FINI), as the dynamic linker would at exit().
void run_destructors(const std::vector<link_map*>& objects);

}  // namespace musubi::image
