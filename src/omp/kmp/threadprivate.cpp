// Threadprivate variables that are not thread-local: flang's, and clang's with -fnoopenmp-use-tls.
#include "omp/entry.h"
#include "omp/kmp/abi.h"
#include "omp/thread_copies.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

extern "C" {

MUSUBI_EXPORT void* __kmpc_threadprivate(Place*, GlobalThread, void* variable, std::size_t bytes) {
  MUSUBI_OMP_ENTRY();
  return thread_copy(variable, bytes);
}
// Only the runtime uses the cache; ours is in the thread.
MUSUBI_EXPORT void* __kmpc_threadprivate_cached(Place*, GlobalThread, void* variable, std::size_t bytes,
                                                void*** /*cache*/) {
  MUSUBI_OMP_ENTRY();
  return thread_copy(variable, bytes);
}

// Copies live as long as their threads, which is the job: they are not destroyed.
MUSUBI_EXPORT void __kmpc_threadprivate_register(Place*, void* variable,
                                                 void* (*construct)(void*, std::size_t),
                                                 void* (*copy)(void*, void*, std::size_t),
                                                 void (* /*destroy*/)(void*)) {
  MUSUBI_OMP_ENTRY();
  register_thread_copies(variable, {construct, copy, 0});
}
MUSUBI_EXPORT void __kmpc_threadprivate_register_vec(Place*, void* variable,
                                                     void* (*construct)(void*, std::size_t),
                                                     void* (*copy)(void*, void*, std::size_t),
                                                     void (* /*destroy*/)(void*, std::size_t),
                                                     std::size_t elements) {
  MUSUBI_OMP_ENTRY();
  register_thread_copies(variable, {construct, copy, elements});
}

}  // extern "C"
