#include "omp/icv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "config/value.h"

namespace musubi::omp {
namespace {

using config::trimmed;

std::string lower(std::string_view text) {
  std::string result(trimmed(text));
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t low, std::uint64_t high) {
  text = trimmed(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high) return {};
  return value;
}

std::optional<bool> parse_boolean(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "1" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "0" || word == "no" || word == "off") return false;
  return {};
}

// `[modifier:]kind[,chunk]`.
std::optional<RunSchedule> parse_schedule(std::string_view text) {
  RunSchedule schedule;
  bool nonmonotonic = false;
  if (const auto colon = text.find(':'); colon != text.npos) {
    const std::string modifier = lower(text.substr(0, colon));
    if (modifier != "monotonic" && modifier != "nonmonotonic") return {};
    schedule.monotonic = modifier == "monotonic";
    nonmonotonic = !schedule.monotonic;
    text.remove_prefix(colon + 1);
  }
  const auto comma = text.find(',');
  const std::string kind = lower(text.substr(0, comma));
  if (kind == "static") {
    schedule.kind = Schedule::static_chunks;
    schedule.monotonic = !nonmonotonic;
  } else if (kind == "dynamic") {
    schedule.kind = Schedule::dynamic;
  } else if (kind == "guided") {
    schedule.kind = Schedule::guided;
  } else if (kind == "auto") {
    schedule.kind = Schedule::automatic;
  } else {
    return {};
  }
  schedule.chunk = schedule.kind == Schedule::static_chunks ? 0 : 1;
  if (comma != text.npos) {
    const auto chunk = parse_number(text.substr(comma + 1), 1, 0x7fffffff);
    if (!chunk) return {};
    schedule.chunk = static_cast<std::uint32_t>(*chunk);
  }
  return schedule;
}

class Reader {
 public:
  Reader(const Lookup& lookup, const Warn& warn) : lookup_(lookup), warn_(warn) {}

  // The variable, parsed by `parse`; empty if it is not set, or invalid (with a warning).
  template <class Parse>
  auto read(const char* name, const char* expected, Parse parse) const
      -> decltype(parse(std::string_view{})) {
    const auto text = lookup_(name);
    if (!text) return {};
    auto value = parse(std::string_view(*text));
    if (!value) {
      warn_(std::string(name) + "='" + *text + "' is not understood and ignored: give " + expected);
    }
    return value;
  }
  std::optional<bool> boolean(const char* name) const { return read(name, "true or false", parse_boolean); }
  std::optional<std::uint64_t> number(const char* name, std::uint64_t low, const char* expected) const {
    return read(name, expected, [low](std::string_view text) { return parse_number(text, low, 0x7fffffff); });
  }

 private:
  const Lookup& lookup_;
  const Warn& warn_;
};

// One number per nesting level.
std::optional<std::vector<std::uint32_t>> parse_thread_list(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (true) {
    const auto comma = text.find(',');
    const auto number = parse_number(text.substr(0, comma), 1, no_thread_limit);
    if (!number) return {};
    numbers.push_back(static_cast<std::uint32_t>(*number));
    if (comma == text.npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

std::optional<Environment::Display> parse_display(std::string_view text) {
  if (lower(text) == "verbose") return Environment::Display::verbose;
  const auto value = parse_boolean(text);
  if (!value) return {};
  return *value ? Environment::Display::yes : Environment::Display::no;
}

// omp_allocator_handle_t: the names of the predefined allocators, from 1, and of the spaces, each of which
// means its allocator.
constexpr std::array<std::string_view, 8> allocator_names{
    "omp_default_mem_alloc", "omp_large_cap_mem_alloc", "omp_const_mem_alloc", "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc", "omp_cgroup_mem_alloc",    "omp_pteam_mem_alloc", "omp_thread_mem_alloc"};
constexpr std::array<std::string_view, 5> space_names{"omp_default_mem_space", "omp_large_cap_mem_space",
                                                      "omp_const_mem_space", "omp_high_bw_mem_space",
                                                      "omp_low_lat_mem_space"};

std::optional<std::uintptr_t> parse_allocator(std::string_view text) {
  const std::string name = lower(text);
  for (std::size_t i = 0; i < allocator_names.size(); ++i) {
    if (name == allocator_names[i] || (i < space_names.size() && name == space_names[i])) return i + 1;
  }
  return {};
}

// Whether the host must not replace a device.
std::optional<bool> parse_offload(std::string_view text) {
  const std::string word = lower(text);
  if (word == "mandatory") return true;
  if (word == "disabled" || word == "default") return false;
  return {};
}

std::optional<std::string> parse_text(std::string_view text) {
  return std::string(text);
}

const char* schedule_name(Schedule kind) {
  constexpr std::array names{"", "STATIC", "DYNAMIC", "GUIDED", "AUTO"};
  return names[static_cast<std::size_t>(kind)];
}

std::string bind_names(const Environment& environment) {
  constexpr std::array names{"FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD"};
  std::string text = names[static_cast<std::size_t>(environment.bind_at(0))];
  for (std::size_t i = 1; i < environment.bind_of_levels.size(); ++i)
    text += std::string(",") + names[static_cast<std::size_t>(environment.bind_of_levels[i])];
  return text;
}

// Leagues, devices, allocators, priorities and affinity.
void read_others(const Reader& reader, Environment& environment) {
  Icv& icv = environment.initial;
  const auto number = [&reader](const char* name, std::uint64_t low, const char* expected) {
    return static_cast<std::uint32_t>(reader.number(name, low, expected).value_or(0));
  };
  icv.teams = number("OMP_NUM_TEAMS", 1, "a positive number of teams");
  icv.teams_thread_limit = number("OMP_TEAMS_THREAD_LIMIT", 1, "a positive number of threads");
  icv.allocator =
      reader.read("OMP_ALLOCATOR", "the name of a predefined allocator or memory space", parse_allocator)
          .value_or(icv.allocator);
  environment.max_task_priority = number("OMP_MAX_TASK_PRIORITY", 0, "a number, 0 or more");
  environment.target_mandatory =
      reader.read("OMP_TARGET_OFFLOAD", "mandatory, disabled or default", parse_offload).value_or(false);
  environment.display_affinity = reader.boolean("OMP_DISPLAY_AFFINITY").value_or(false);
  environment.affinity_format =
      reader.read("OMP_AFFINITY_FORMAT", "a format", parse_text).value_or(environment.affinity_format);
}

}  // namespace

Environment read_environment(std::uint32_t threads, const Lookup& lookup, const Warn& warn) {
  const Reader reader(lookup, warn);
  Environment environment;
  Icv& icv = environment.initial;
  icv.threads = threads;
  if (const auto limit = reader.number("OMP_THREAD_LIMIT", 1, "a positive number of threads")) {
    icv.thread_limit = static_cast<std::uint32_t>(*limit);
  }
  environment.threads_of_levels =
      reader.read("OMP_NUM_THREADS", "a positive number of threads", parse_thread_list)
          .value_or(std::vector<std::uint32_t>{});
  if (!environment.threads_of_levels.empty()) icv.threads = environment.threads_of_levels[0];
  icv.threads = std::min(icv.threads, icv.thread_limit);
  if (const auto schedule = reader.read(
          "OMP_SCHEDULE", "static, dynamic, guided or auto, and a chunk after a comma", parse_schedule)) {
    icv.schedule = *schedule;
  }
  icv.dynamic = reader.boolean("OMP_DYNAMIC").value_or(false);
  environment.places = reader.read(
      "OMP_PLACES", "a kind of places such as cores, or a list such as {0:4},{4:4}", parse_places);
  environment.bind_of_levels =
      reader.read("OMP_PROC_BIND", "true, false, or a list of primary, close and spread", parse_bind_list)
          .value_or(std::vector<ProcBind>(environment.places ? 1 : 0, ProcBind::yes));
  if (environment.threads_of_levels.size() > 1 || environment.bind_of_levels.size() > 1)
    icv.max_active_levels = active_levels_supported;
  if (const auto nested = reader.boolean("OMP_NESTED"))
    icv.max_active_levels = *nested ? active_levels_supported : 1;
  if (const auto levels = reader.number("OMP_MAX_ACTIVE_LEVELS", 0, "a number of levels")) {
    icv.max_active_levels =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*levels, active_levels_supported));
  }
  if (const auto device = reader.number("OMP_DEFAULT_DEVICE", 0, "the number of a device")) {
    icv.default_device = static_cast<std::int32_t>(*device);
  }
  read_others(reader, environment);
  environment.stack_bytes =
      reader.read("OMP_STACKSIZE", "a size such as 64M", config::parse_openmp_size).value_or(0);
  environment.cancellation = reader.boolean("OMP_CANCELLATION").value_or(false);
  environment.display = reader.read("OMP_DISPLAY_ENV", "true, false or verbose", parse_display)
                            .value_or(Environment::Display::no);
  return environment;
}

std::string describe(const Environment& environment, bool verbose) {
  const Icv& icv = environment.initial;
  std::string text = "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n";
  const auto line = [&text](const char* name, const std::string& value) {
    text += std::string("  [host] ") + name + " = '" + value + "'\n";
  };
  line("OMP_DYNAMIC", icv.dynamic ? "TRUE" : "FALSE");
  line("OMP_NESTED", icv.max_active_levels > 1 ? "TRUE" : "FALSE");
  std::string threads = std::to_string(icv.threads);
  for (std::size_t i = 1; i < environment.threads_of_levels.size(); ++i)
    threads += "," + std::to_string(environment.threads_of_levels[i]);
  line("OMP_NUM_THREADS", threads);
  std::string schedule = schedule_name(icv.schedule.kind);
  if (icv.schedule.chunk > 1 && icv.schedule.kind != Schedule::automatic)
    schedule += "," + std::to_string(icv.schedule.chunk);
  line("OMP_SCHEDULE", schedule);
  line("OMP_PROC_BIND", bind_names(environment));
  line("OMP_PLACES", environment.places ? environment.places->text : "");
  line("OMP_STACKSIZE", std::to_string(environment.stack_bytes));
  line("OMP_WAIT_POLICY", "PASSIVE");
  line("OMP_THREAD_LIMIT", std::to_string(icv.thread_limit));
  line("OMP_MAX_ACTIVE_LEVELS", std::to_string(icv.max_active_levels));
  line("OMP_CANCELLATION", environment.cancellation ? "TRUE" : "FALSE");
  line("OMP_DEFAULT_DEVICE", std::to_string(icv.default_device));
  line("OMP_MAX_TASK_PRIORITY", std::to_string(environment.max_task_priority));
  line("OMP_NUM_TEAMS", std::to_string(icv.teams));
  line("OMP_TEAMS_THREAD_LIMIT", std::to_string(icv.teams_thread_limit));
  line("OMP_TARGET_OFFLOAD", environment.target_mandatory ? "MANDATORY" : "DEFAULT");
  line("OMP_DISPLAY_AFFINITY", environment.display_affinity ? "TRUE" : "FALSE");
  line("OMP_AFFINITY_FORMAT", environment.affinity_format);
  if (icv.allocator >= 1 && icv.allocator <= allocator_names.size()) {
    line("OMP_ALLOCATOR", std::string(allocator_names[icv.allocator - 1]));
  }
  if (verbose) line("MUSUBI", "tasks executed at once");
  return text + "OPENMP DISPLAY ENVIRONMENT END\n";
}

}  // namespace musubi::omp
