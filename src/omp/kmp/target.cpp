// Target regions of programs for the host alone. The runtime answers that it has not run a region, and the
// compiled code then calls the version for the host; variables are where they are.
#include "omp/entry.h"
#include "omp/icv.h"
#include "omp/job.h"
#include "omp/kmp/abi.h"
#include "omp/tasks.h"

using namespace musubi::omp;
using namespace musubi::omp::kmp;

namespace {

constexpr int not_done = 1;

int refuse_kernel(std::int64_t device) {
  const Job* const job = Job::current();
  const bool is_host = device == initial_device || device == -2;
  if (job != nullptr && job->environment.target_mandatory && !is_host) {
    unsupported("OMP_TARGET_OFFLOAD=mandatory with a device other than the host",
                "the job has none; unset OMP_TARGET_OFFLOAD");
  }
  return not_done;
}

}  // namespace

extern "C" {

MUSUBI_EXPORT int __tgt_target_kernel(Place*, std::int64_t device, std::int32_t /*teams*/,
                                      std::int32_t /*threads*/, void* /*host*/, void* /*arguments*/) {
  return refuse_kernel(device);
}
MUSUBI_EXPORT int __tgt_target_kernel_nowait(Place*, std::int64_t device, std::int32_t /*teams*/,
                                             std::int32_t /*threads*/, void* /*host*/, void* /*arguments*/,
                                             std::int32_t /*dependences*/, void* /*list*/,
                                             std::int32_t /*without_alias*/, void* /*list_without_alias*/) {
  return refuse_kernel(device);
}
// Before version 15.
MUSUBI_EXPORT int __tgt_target_mapper(Place*, std::int64_t device) {
  return refuse_kernel(device);
}
MUSUBI_EXPORT int __tgt_target_nowait_mapper(Place*, std::int64_t device) {
  return refuse_kernel(device);
}
MUSUBI_EXPORT int __tgt_target_teams_mapper(Place*, std::int64_t device) {
  return refuse_kernel(device);
}
MUSUBI_EXPORT int __tgt_target_teams_nowait_mapper(Place*, std::int64_t device) {
  return refuse_kernel(device);
}

// Data of devices, and images of a program for them. Their arguments have no use here.
#define MUSUBI_NOTHING(name) \
  MUSUBI_EXPORT void name() {}
MUSUBI_NOTHING(__tgt_target_data_begin)
MUSUBI_NOTHING(__tgt_target_data_begin_nowait)
MUSUBI_NOTHING(__tgt_target_data_begin_mapper)
MUSUBI_NOTHING(__tgt_target_data_begin_nowait_mapper)
MUSUBI_NOTHING(__tgt_target_data_end)
MUSUBI_NOTHING(__tgt_target_data_end_nowait)
MUSUBI_NOTHING(__tgt_target_data_end_mapper)
MUSUBI_NOTHING(__tgt_target_data_end_nowait_mapper)
MUSUBI_NOTHING(__tgt_target_data_update)
MUSUBI_NOTHING(__tgt_target_data_update_nowait)
MUSUBI_NOTHING(__tgt_target_data_update_mapper)
MUSUBI_NOTHING(__tgt_target_data_update_nowait_mapper)
MUSUBI_NOTHING(__tgt_register_lib)
MUSUBI_NOTHING(__tgt_unregister_lib)
MUSUBI_NOTHING(__tgt_register_requires)
MUSUBI_NOTHING(__tgt_init_all_rtls)
MUSUBI_NOTHING(__tgt_set_info_flag)
MUSUBI_NOTHING(__tgt_push_mapper_component)
MUSUBI_NOTHING(__kmpc_push_target_tripcount)
MUSUBI_NOTHING(__kmpc_push_target_tripcount_mapper)

MUSUBI_EXPORT std::int64_t __tgt_mapper_num_components(void* /*handle*/) {
  return 0;
}
MUSUBI_EXPORT int __tgt_print_device_info(std::int64_t /*device*/) {
  return 0;
}
MUSUBI_EXPORT int omp_pause_resource(int kind, int device);
MUSUBI_EXPORT int __kmpc_pause_resource(int kind, int device) {
  return omp_pause_resource(kind, device);
}
// enum kmp_target_offload_kind: disabled, default, mandatory.
MUSUBI_EXPORT std::int32_t __kmpc_get_target_offload() {
  const Job* const job = Job::current();
  constexpr std::int32_t disabled = 0, mandatory = 2;
  return job != nullptr && job->environment.target_mandatory ? mandatory : disabled;
}

}  // extern "C"
