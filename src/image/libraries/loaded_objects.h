// The objects of this process as the dynamic linker lists them: the program first, then its libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address_range.h"
#include "image/libraries/elf_image.h"
#include "image/libraries/library_choice.h"

namespace musubi::image {

struct LoadedObject {
  std::string name;  // path; empty for the program
  std::uintptr_t base = 0;
  AddressRange range;  // from its first to its last segment
};

// Whether `path` names a part of the C library: libc, the dynamic linker, or libpthread.
bool is_c_library(std::string_view path);

// In the linker's order. Allocates.
std::vector<LoadedObject> loaded_objects();

Globals find_program_globals();
// Of the program and of all libraries that share theirs. REQUIRES: `choice` has decided about all loaded
// objects.
Globals find_shared_globals(const LibraryChoice& choice);
// Of one library.
Globals find_library_globals(const link_map& library);

// Calls `visit` with the dynamic linker's data about `object`. False: it is not loaded.
bool visit_object(const link_map& object, const std::function<void(const dl_phdr_info&)>& visit);

// One line per object: its address and identity. Equal on all ranks if pointers into code and static data of
// the program and its libraries mean the same everywhere. The vdso is left out: no program stores a pointer
// into it.
std::string image_fingerprint();

// Compares the ranks' fingerprints. Result: empty if all are equal; otherwise one line for the user with the
// rank, the object, and the remedy.
std::string fingerprint_difference(const std::vector<std::string>& by_rank);

// Whether the program, or a library that is not of the system, has thread-local variables (PT_TLS), whose
// addresses threads may pass to each other. Objects loaded later have their storage elsewhere.
bool program_has_thread_storage();

// Whether gcc's OpenMP library is loaded, or this one was linked in its place.
bool uses_openmp();

// Whether the program, or a library that came with it, asks for executable stacks (PT_GNU_STACK): gcc's
// nested functions and Fortran's internal procedures are called through code on the stack.
bool program_has_code_on_stacks();
// Whether the program or one of its libraries has explicit tasks of OpenMP. At the start.
bool program_makes_tasks();

}  // namespace musubi::image
