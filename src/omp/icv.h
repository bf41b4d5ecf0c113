// The internal control variables of OpenMP (specification 5.1, section 2.4) and their values in the
// environment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "omp/place_list.h"

namespace musubi::omp {

enum class Schedule : std::uint8_t { static_chunks = 1, dynamic = 2, guided = 3, automatic = 4 };

struct RunSchedule {
  Schedule kind = Schedule::dynamic;
  std::uint32_t chunk = 1;  // 0: by the implementation
  bool monotonic = false;
  bool operator==(const RunSchedule&) const = default;
};

// The number of the host: equal to the number of other devices.
inline constexpr int initial_device = 0;

inline constexpr std::uint32_t no_thread_limit = 0x7fffffff;
inline constexpr std::uint32_t active_levels_supported = 255;

// The variables of a task's data environment; inherited at each region.
struct Icv {
  std::uint32_t threads = 1;  // nthreads-var
  RunSchedule schedule;
  std::uint32_t max_active_levels = 1;
  bool dynamic = false;
  std::int32_t default_device = 0;
  std::uint32_t thread_limit = no_thread_limit;  // thread-limit-var
  std::uint32_t teams = 0;                       // nteams-var; 0: not set
  std::uint32_t teams_thread_limit = 0;          // teams-thread-limit-var; 0: not set
  std::uintptr_t allocator = 1;                  // def-allocator-var: an omp_allocator_handle_t
  // The league around the task: its number of teams, and the number of this team.
  std::uint32_t league = 1;
  std::uint32_t league_number = 0;
  bool operator==(const Icv&) const = default;
};

// Reads one variable of the environment: its text, or nothing.
using Lookup = std::function<std::optional<std::string>(const char* name)>;
// Receives one line about an invalid variable, which then counts as not set.
using Warn = std::function<void(const std::string& line)>;

struct Environment {
  Icv initial;
  // nthreads-var by nesting level, as far as the variable lists numbers; empty: not set.
  std::vector<std::uint32_t> threads_of_levels;
  // bind-var by nesting level, as far as the variable lists policies; empty: not set, as `no`.
  std::vector<ProcBind> bind_of_levels;
  std::optional<PlaceList> places;  // OMP_PLACES
  bool cancellation = false;
  bool target_mandatory = false;  // OMP_TARGET_OFFLOAD
  std::uint32_t max_task_priority = 0;
  bool display_affinity = false;
  std::string affinity_format = "level %L thread %i affinity %A";
  std::uint64_t stack_bytes = 0;  // 0: not set
  enum class Display : std::uint8_t { no, yes, verbose } display = Display::no;

  bool binds() const { return bind_at(0) != ProcBind::no; }
  // bind-var of a task at this nesting level.
  ProcBind bind_at(std::uint32_t level) const {
    if (bind_of_levels.empty()) return ProcBind::no;
    return bind_of_levels[std::min<std::size_t>(level, bind_of_levels.size() - 1)];
  }
};

// Reads OMP_NUM_THREADS, OMP_SCHEDULE, OMP_DYNAMIC, OMP_NESTED, OMP_MAX_ACTIVE_LEVELS, OMP_THREAD_LIMIT,
// OMP_STACKSIZE, OMP_CANCELLATION, OMP_DISPLAY_ENV, OMP_DEFAULT_DEVICE, OMP_TARGET_OFFLOAD, OMP_NUM_TEAMS,
// OMP_TEAMS_THREAD_LIMIT, OMP_MAX_TASK_PRIORITY, OMP_DISPLAY_AFFINITY, OMP_AFFINITY_FORMAT, OMP_ALLOCATOR,
// OMP_PLACES and OMP_PROC_BIND.
// `threads`: the default of nthreads-var.
Environment read_environment(std::uint32_t threads, const Lookup& lookup, const Warn& warn);

// The text of OMP_DISPLAY_ENV and omp_display_env.
std::string describe(const Environment& environment, bool verbose);

}  // namespace musubi::omp
