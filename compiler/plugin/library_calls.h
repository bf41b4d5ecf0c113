#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace musubi::compiler {

// An argument that points to so many bytes, or is null.
struct FixedArgument {
  unsigned number;
  uint64_t bytes;
  bool writes;
};
// All bytes that a function of the C library touches by its arguments: clocks. Empty: not known.
llvm::ArrayRef<FixedArgument> fixed_arguments(llvm::StringRef name);

// Whether a function of an OpenMP or Fortran runtime, known by its name, orders no memory between threads.
// The C library's functions are known to LLVM (TargetLibraryInfo).
bool is_quiet_library_function(llvm::StringRef name);

// Whether the runtime of Musubi implements a function, and handles the memory that its arguments name.
bool is_of_runtime(llvm::StringRef name);

// Variables of the C library that point to memory of the process.
bool is_of_c_library(llvm::StringRef variable);

// The argument of a function of the C library that is a stream, which lies in memory of the process; -1:
// none.
int stream_argument(llvm::StringRef name);

}  // namespace musubi::compiler
