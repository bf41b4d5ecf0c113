// Copies of threadprivate variables, one for each thread, where compilers do not use thread-local storage.
// The initial thread has the variable itself.
#pragma once

#include <cstddef>

namespace musubi::omp {

// How copies of an object begin, if not as bytes; each may be null. `elements`: of an array; functions of
// other objects take no such argument, and ignore it.
struct CopyFunctions {
  void* (*construct)(void* copy, std::size_t elements) = nullptr;
  void* (*copy)(void* copy, void* original, std::size_t elements) = nullptr;
  std::size_t elements = 0;
};

// Before any thread asks for its copy; once for the job.
void register_thread_copies(const void* variable, const CopyFunctions& functions);

// The calling thread's copy of the variable; the same each time. Other threads may use it by its address. It
// begins with the bytes that the variable has when the first thread asks, so usually with the initial ones.
void* thread_copy(void* variable, std::size_t bytes);

}  // namespace musubi::omp
