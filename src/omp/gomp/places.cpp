// Places, devices and leagues: a job has no places that a program could bind to, no device but the host, and
// leagues of one team.
#include "omp/gomp/entry.h"
#include "omp/gomp/queries.h"
#include "omp/team.h"

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
  return 0;
}
MUSUBI_EXPORT int omp_is_initial_device() {
  return 1;
}

MUSUBI_EXPORT int omp_get_num_teams() {
  return 1;
}
MUSUBI_EXPORT int omp_get_team_num() {
  return 0;
}
MUSUBI_EXPORT void omp_set_num_teams(int /*teams*/) {}
MUSUBI_EXPORT int omp_get_max_teams() {
  return 1;
}
MUSUBI_EXPORT void omp_set_teams_thread_limit(int /*limit*/) {}
MUSUBI_EXPORT int omp_get_teams_thread_limit() {
  return 0;
}

// Nothing is held that could be given up: the answer says that the request was not carried out.
MUSUBI_EXPORT int omp_pause_resource(int /*kind*/, int /*device*/) {
  return -1;
}
MUSUBI_EXPORT int omp_pause_resource_all(int /*kind*/) {
  return -1;
}

}  // extern "C"
