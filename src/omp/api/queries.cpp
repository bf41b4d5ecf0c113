// Queries of a program about its team, places, devices and leagues, and changes of its control variables.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "omp/entry.h"
#include "omp/job.h"
#include "omp/pause.h"
#include "os/clock.h"

using namespace musubi::omp;

namespace {

constexpr unsigned monotonic_flag = 0x80000000u;
constexpr int levels_supported = active_levels_supported;

// The implicit task at `level` around the calling thread, or null.
const ImplicitTask* task_at(int level) {
  const ImplicitTask* task = &implicit_task();
  if (level < 0 || static_cast<std::uint32_t>(level) > task->level) return nullptr;
  while (task->ancestor != nullptr && task->level > static_cast<std::uint32_t>(level)) task = task->ancestor;
  return task;
}

Environment environment_now() {
  const Job* job = Job::current();
  Environment environment = job != nullptr ? job->environment : Environment{};
  environment.initial = current_task().icv;
  return environment;
}

}  // namespace

extern "C" {

MUSUBI_EXPORT int omp_get_thread_num() {
  return static_cast<int>(implicit_task().number);
}
MUSUBI_EXPORT int omp_get_num_threads() {
  return static_cast<int>(implicit_task().size);
}
MUSUBI_EXPORT int omp_get_max_threads() {
  return static_cast<int>(current_task().icv.threads);
}

MUSUBI_EXPORT void omp_set_num_threads(int threads) {
  current_task().icv.threads = threads > 0 ? static_cast<std::uint32_t>(threads) : 1;
}

// The job's number of threads, so that a program which sizes its teams by it uses all of them.
MUSUBI_EXPORT int omp_get_num_procs() {
  const Job* job = Job::current();
  return job != nullptr ? static_cast<int>(job->team.threads().all()) : 1;
}

MUSUBI_EXPORT int omp_in_parallel() {
  return implicit_task().active_level > 0;
}

MUSUBI_EXPORT void omp_set_dynamic(int dynamic) {
  current_task().icv.dynamic = dynamic != 0;
}
MUSUBI_EXPORT int omp_get_dynamic() {
  return current_task().icv.dynamic;
}
MUSUBI_EXPORT void omp_set_nested(int nested) {
  std::uint32_t& levels = current_task().icv.max_active_levels;
  if (nested != 0) {
    levels = std::max<std::uint32_t>(levels, levels_supported);
  } else if (levels > 1) {
    levels = 1;
  }
}
MUSUBI_EXPORT int omp_get_nested() {
  const std::uint32_t levels = current_task().icv.max_active_levels;
  return levels > implicit_task().active_level && levels > 1;
}

MUSUBI_EXPORT void omp_set_schedule(unsigned kind, int chunk) {
  const unsigned plain = kind & ~monotonic_flag;
  if (plain < 1 || plain > 4) return;
  RunSchedule& schedule = current_task().icv.schedule;
  schedule.kind = static_cast<Schedule>(plain);
  schedule.monotonic = (kind & monotonic_flag) != 0;
  if (schedule.kind == Schedule::automatic) return;  // its loops ignore the chunk
  const std::uint32_t smallest = schedule.kind == Schedule::static_chunks ? 0 : 1;
  schedule.chunk = chunk < 1 ? smallest : static_cast<std::uint32_t>(chunk);
}
MUSUBI_EXPORT void omp_get_schedule(unsigned* kind, int* chunk) {
  const RunSchedule& schedule = current_task().icv.schedule;
  *kind = static_cast<unsigned>(schedule.kind) | (schedule.monotonic ? monotonic_flag : 0);
  *chunk = static_cast<int>(schedule.chunk);
}

MUSUBI_EXPORT int omp_get_thread_limit() {
  return static_cast<int>(current_task().icv.thread_limit);
}
MUSUBI_EXPORT void omp_set_max_active_levels(int levels) {
  if (levels < 0) return;
  current_task().icv.max_active_levels = static_cast<std::uint32_t>(std::min(levels, levels_supported));
}
MUSUBI_EXPORT int omp_get_max_active_levels() {
  return static_cast<int>(current_task().icv.max_active_levels);
}
MUSUBI_EXPORT int omp_get_supported_active_levels() {
  return levels_supported;
}
MUSUBI_EXPORT int omp_get_level() {
  return static_cast<int>(implicit_task().level);
}
MUSUBI_EXPORT int omp_get_active_level() {
  return static_cast<int>(implicit_task().active_level);
}

MUSUBI_EXPORT int omp_get_ancestor_thread_num(int level) {
  const ImplicitTask* task = task_at(level);
  if (task == nullptr) return -1;
  // A rank has no task for the levels around a region over the ranks that another one opened: these are
  // serialised, or the initial one.
  return task->level == static_cast<std::uint32_t>(level) ? static_cast<int>(task->number) : 0;
}
MUSUBI_EXPORT int omp_get_team_size(int level) {
  const ImplicitTask* task = task_at(level);
  if (task == nullptr) return -1;
  return task->level == static_cast<std::uint32_t>(level) ? static_cast<int>(task->size) : 1;
}

MUSUBI_EXPORT int omp_in_explicit_task() {
  const Thread& thread = this_thread();
  return thread.task != thread.implicit;
}
MUSUBI_EXPORT int omp_in_final() {
  return current_task().final;
}
MUSUBI_EXPORT int omp_get_cancellation() {
  const Job* job = Job::current();
  return job != nullptr && job->environment.cancellation;
}
MUSUBI_EXPORT int omp_get_max_task_priority() {
  const Job* job = Job::current();
  return job != nullptr ? static_cast<int>(job->environment.max_task_priority) : 0;
}

MUSUBI_EXPORT double omp_get_wtime() {
  const Job* const job = Job::current();
  const std::int64_t offset_ns = job != nullptr ? job->clock_offset_ns : 0;
  return static_cast<double>(static_cast<std::int64_t>(musubi::os::monotonic_ns()) + offset_ns) * 1e-9;
}
MUSUBI_EXPORT double omp_get_wtick() {
  return 1e-9;
}

MUSUBI_EXPORT void omp_display_env(int verbose) {
  const std::string text = describe(environment_now(), verbose != 0);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// A job has no device but the host.
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

// Both kinds end the threads: the specification keeps their threadprivate variables in neither.
MUSUBI_EXPORT int omp_pause_resource(int kind, int device) {
  MUSUBI_OMP_ENTRY();
  constexpr int soft = 1, hard = 2;
  const bool known = kind == soft || kind == hard;
  return known && device == initial_device && pause_host() ? 0 : -1;
}
MUSUBI_EXPORT int omp_pause_resource_all(int kind) {
  return omp_pause_resource(kind, initial_device);
}

}  // extern "C"
