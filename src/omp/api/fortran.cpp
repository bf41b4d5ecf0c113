// The Fortran forms: a trailing underscore, arguments by address, and _8_ for 8-byte integers.
#include <algorithm>
#include <climits>

#include "omp/entry.h"

namespace {

// An 8-byte argument that does not fit becomes the nearest int: a level beyond every level does not exist
// either way.
int narrowed(long value) {
  return static_cast<int>(std::clamp<long>(value, INT_MIN, INT_MAX));
}

}  // namespace

extern "C" {

// Each declares the C function, and defines the Fortran forms.
#define MUSUBI_ASK(name)        \
  int name();                   \
  MUSUBI_EXPORT int name##_() { \
    return name();              \
  }
#define MUSUBI_ASK_LEVEL(name)                     \
  int name(int level);                             \
  MUSUBI_EXPORT int name##_(const int* level) {    \
    return name(*level);                           \
  }                                                \
  MUSUBI_EXPORT int name##_8_(const long* level) { \
    return name(narrowed(*level));                 \
  }
#define MUSUBI_SET(name)                            \
  void name(int value);                             \
  MUSUBI_EXPORT void name##_(const int* value) {    \
    name(*value);                                   \
  }                                                 \
  MUSUBI_EXPORT void name##_8_(const long* value) { \
    name(narrowed(*value));                         \
  }
// A logical is true if any bit is set.
#define MUSUBI_SET_LOGICAL(name)                    \
  void name(int value);                             \
  MUSUBI_EXPORT void name##_(const int* value) {    \
    name(*value != 0);                              \
  }                                                 \
  MUSUBI_EXPORT void name##_8_(const long* value) { \
    name(*value != 0);                              \
  }

MUSUBI_ASK(omp_get_thread_num)
MUSUBI_ASK(omp_get_num_threads)
MUSUBI_ASK(omp_get_max_threads)
MUSUBI_ASK(omp_get_num_procs)
MUSUBI_ASK(omp_in_parallel)
MUSUBI_ASK(omp_get_dynamic)
MUSUBI_ASK(omp_get_nested)
MUSUBI_ASK(omp_get_thread_limit)
MUSUBI_ASK(omp_get_max_active_levels)
MUSUBI_ASK(omp_get_supported_active_levels)
MUSUBI_ASK(omp_get_level)
MUSUBI_ASK(omp_get_active_level)
MUSUBI_ASK(omp_in_explicit_task)
MUSUBI_ASK(omp_in_final)
MUSUBI_ASK(omp_get_cancellation)
MUSUBI_ASK(omp_get_max_task_priority)
MUSUBI_ASK(omp_get_proc_bind)
MUSUBI_ASK(omp_get_num_places)
MUSUBI_ASK(omp_get_place_num)
MUSUBI_ASK(omp_get_partition_num_places)
MUSUBI_ASK(omp_get_default_device)
MUSUBI_ASK(omp_get_num_devices)
MUSUBI_ASK(omp_get_device_num)
MUSUBI_ASK(omp_get_initial_device)
MUSUBI_ASK(omp_is_initial_device)
MUSUBI_ASK(omp_get_num_teams)
MUSUBI_ASK(omp_get_team_num)
MUSUBI_ASK(omp_get_max_teams)
MUSUBI_ASK(omp_get_teams_thread_limit)
MUSUBI_ASK_LEVEL(omp_get_ancestor_thread_num)
MUSUBI_ASK_LEVEL(omp_get_team_size)
MUSUBI_ASK_LEVEL(omp_get_place_num_procs)
MUSUBI_SET(omp_set_num_threads)
MUSUBI_SET(omp_set_max_active_levels)
MUSUBI_SET(omp_set_default_device)
MUSUBI_SET(omp_set_num_teams)
MUSUBI_SET(omp_set_teams_thread_limit)
MUSUBI_SET_LOGICAL(omp_set_dynamic)
MUSUBI_SET_LOGICAL(omp_set_nested)

double omp_get_wtime();
double omp_get_wtick();
void omp_set_schedule(unsigned kind, int chunk);
void omp_get_schedule(unsigned* kind, int* chunk);
void omp_display_env(int verbose);
int omp_pause_resource(int kind, int device);
int omp_pause_resource_all(int kind);

MUSUBI_EXPORT double omp_get_wtime_() {
  return omp_get_wtime();
}
MUSUBI_EXPORT double omp_get_wtick_() {
  return omp_get_wtick();
}

MUSUBI_EXPORT void omp_set_schedule_(const int* kind, const int* chunk) {
  omp_set_schedule(static_cast<unsigned>(*kind), *chunk);
}
MUSUBI_EXPORT void omp_set_schedule_8_(const int* kind, const long* chunk) {
  omp_set_schedule(static_cast<unsigned>(*kind), narrowed(*chunk));
}
MUSUBI_EXPORT void omp_get_schedule_(int* kind, int* chunk) {
  omp_get_schedule(reinterpret_cast<unsigned*>(kind), chunk);
}
MUSUBI_EXPORT void omp_get_schedule_8_(int* kind, long* chunk) {
  int narrow = 0;
  omp_get_schedule(reinterpret_cast<unsigned*>(kind), &narrow);
  *chunk = narrow;
}

MUSUBI_EXPORT void omp_display_env_(const int* verbose) {
  omp_display_env(*verbose != 0);
}
MUSUBI_EXPORT void omp_display_env_8_(const long* verbose) {
  omp_display_env(*verbose != 0);
}

MUSUBI_EXPORT int omp_pause_resource_(const int* kind, const int* device) {
  return omp_pause_resource(*kind, *device);
}
MUSUBI_EXPORT int omp_pause_resource_all_(const int* kind) {
  return omp_pause_resource_all(*kind);
}

}  // extern "C"
