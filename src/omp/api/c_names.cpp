// Further names of C functions whose Fortran forms have the plain name on other systems.
#include <cstddef>

#include "omp/entry.h"

extern "C" {

// Each declares the function, and defines the other name.
#define MUSUBI_OTHER_NAME(result, name, parameters, arguments) \
  result omp_##name parameters;                                \
  MUSUBI_EXPORT result ompc_##name parameters {                \
    return omp_##name arguments;                               \
  }
MUSUBI_OTHER_NAME(void, set_num_threads, (int threads), (threads))
MUSUBI_OTHER_NAME(void, set_dynamic, (int dynamic), (dynamic))
MUSUBI_OTHER_NAME(void, set_nested, (int nested), (nested))
MUSUBI_OTHER_NAME(void, set_max_active_levels, (int levels), (levels))
MUSUBI_OTHER_NAME(void, set_schedule, (unsigned kind, int chunk), (kind, chunk))
MUSUBI_OTHER_NAME(int, get_ancestor_thread_num, (int level), (level))
MUSUBI_OTHER_NAME(int, get_team_size, (int level), (level))
MUSUBI_OTHER_NAME(void, set_affinity_format, (const char* format), (format))
MUSUBI_OTHER_NAME(std::size_t, get_affinity_format, (char* buffer, std::size_t bytes), (buffer, bytes))
MUSUBI_OTHER_NAME(void, display_affinity, (const char* format), (format))
MUSUBI_OTHER_NAME(std::size_t, capture_affinity, (char* buffer, std::size_t bytes, const char* format),
                  (buffer, bytes, format))

}  // extern "C"
