#pragma once

#include "llvm/ADT/StringRef.h"

namespace musubi::compiler {

// Whether a function of an OpenMP or Fortran runtime, known by its name, orders no memory between threads.
// The C library's functions are known to LLVM (TargetLibraryInfo).
bool is_quiet_library_function(llvm::StringRef name);

// Whether the runtime of Musubi implements a function, and handles the memory that its arguments name.
bool is_of_runtime(llvm::StringRef name);

}  // namespace musubi::compiler
