// Places, devices and leagues: a job has no places to bind to, and no device but the host.
#include "omp/entry.h"

using namespace musubi::omp;

extern "C" {

MUSUBI_EXPORT int omp_get_proc_bind() {
  return 0;
}
MUSUBI_EXPORT int omp_get_num_places() {
  return 0;
}
MUSUBI_EXPORT int omp_get_place_num_procs(int /*place*/) {
  return 0;
}
MUSUBI_EXPORT void omp_get_place_proc_ids(int /*place*/, int* /*ids*/) {}
MUSUBI_EXPORT int omp_get_place_num() {
  return -1;
}
MUSUBI_EXPORT int omp_get_partition_num_places() {
  return 0;
}
MUSUBI_EXPORT void omp_get_partition_place_nums(int* /*places*/) {}

MUSUBI_EXPORT void omp_set_default_device(int device) {
  current_task().icv.default_device = device < 0 ? 0 : device;
}
MUSUBI_EXPORT int omp_get_default_device() {
  return current_task().icv.default_device;
}
MUSUBI_EXPORT int omp_get_num_devices() {
  return 0;
}
MUSUBI_EXPORT int omp_get_device_num() {
  return 0;
}
MUSUBI_EXPORT int omp_get_initial_device() {
  return initial_device;
}
MUSUBI_EXPORT int omp_is_initial_device() {
  return 1;
}

MUSUBI_EXPORT int omp_get_num_teams() {
  return static_cast<int>(current_task().icv.league);
}
MUSUBI_EXPORT int omp_get_team_num() {
  return static_cast<int>(current_task().icv.league_number);
}
MUSUBI_EXPORT void omp_set_num_teams(int teams) {
  if (teams >= 0) current_task().icv.teams = static_cast<std::uint32_t>(teams);
}
MUSUBI_EXPORT int omp_get_max_teams() {
  return static_cast<int>(current_task().icv.teams);
}
MUSUBI_EXPORT void omp_set_teams_thread_limit(int limit) {
  if (limit >= 0) current_task().icv.teams_thread_limit = static_cast<std::uint32_t>(limit);
}
MUSUBI_EXPORT int omp_get_teams_thread_limit() {
  return static_cast<int>(current_task().icv.teams_thread_limit);
}

// Waiting threads hold no processor, and their stacks stay in use: a pause has nothing to release, but it is
// only allowed between regions.
MUSUBI_EXPORT int omp_pause_resource(int kind, int device) {
  constexpr int soft = 1, hard = 2;
  const bool known = kind == soft || kind == hard;
  return known && device == initial_device && implicit_task().level == 0 ? 0 : -1;
}
MUSUBI_EXPORT int omp_pause_resource_all(int kind) {
  return omp_pause_resource(kind, initial_device);
}

}  // extern "C"
