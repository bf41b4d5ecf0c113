#include "os/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace musubi::os {
namespace {

// Version 1 writes "no limit" as the largest whole page of a signed word.
constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number(const std::string& path) {
  const auto line = first_line(path);
  if (!line || line->empty() || line->front() < '0' || line->front() > '9') return std::nullopt;
  const std::uint64_t value = std::stoull(*line);
  return value >= no_limit ? std::nullopt : std::optional(value);
}

// The value of `name` in a file of lines `name value`.
std::uint64_t named(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t value = 0;
  while (file >> word >> value) {
    if (word == name) return value;
  }
  return 0;
}

void lower(std::optional<std::uint64_t>& limit, std::optional<std::uint64_t> other) {
  if (other) limit = std::min(limit.value_or(*other), *other);
}
void lower(std::optional<double>& limit, double other) {
  limit = std::min(limit.value_or(other), other);
}

// The file names of one group version.
struct MemoryFiles {
  const char* limit;
  const char* usage;
  const char* caches[2];
};
constexpr MemoryFiles unified{"/memory.max", "/memory.current", {"active_file", "inactive_file"}};
constexpr MemoryFiles separate{
    "/memory.limit_in_bytes", "/memory.usage_in_bytes", {"total_active_file", "total_inactive_file"}};

void take_memory(const std::string& group, const MemoryFiles& files, ControlGroup& result) {
  const auto limit = number(group + files.limit);
  if (!limit) return;
  lower(result.memory_bytes_max, limit);
  std::uint64_t used = number(group + files.usage).value_or(0);
  for (const char* cache : files.caches) {
    used -= std::min(used, named(group + "/memory.stat", cache));
  }
  lower(result.memory_bytes_left, *limit - std::min(used, *limit));
}

void take_unified(const std::string& group, ControlGroup& result) {
  take_memory(group, unified, result);
  lower(result.processes_max, number(group + "/pids.max"));
  if (const auto line = first_line(group + "/cpu.max")) {
    std::istringstream words(*line);
    double quota = 0, period = 0;
    if (words >> quota >> period && period > 0) lower(result.processors, quota / period);
  }
}

void take_separate(const std::string& controller, const std::string& group, ControlGroup& result) {
  if (controller == "memory") take_memory(group, separate, result);
  if (controller == "pids") lower(result.processes_max, number(group + "/pids.max"));
  if (controller == "cpu") {
    const auto quota = number(group + "/cpu.cfs_quota_us");  // -1: no quota
    const auto period = number(group + "/cpu.cfs_period_us");
    if (quota && period && *period > 0) {
      lower(result.processors, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
}

// The paths of `group` and of all groups above it.
std::vector<std::string> upwards(std::string group) {
  std::vector<std::string> paths;
  while (group.size() > 1) {
    paths.push_back(group);
    group.erase(group.rfind('/'));
  }
  paths.push_back("");
  return paths;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

ControlGroup read_control_group(const std::string& process, const std::string& mounted) {
  ControlGroup result;
  std::ifstream groups(process + "/cgroup");
  // A line is `number:controllers:path`; version 2 leaves the controllers empty.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> paths = upwards(line.substr(second + 1));
    if (controllers.empty()) {
      for (const std::string& root : {mounted, mounted + "/unified"}) {
        for (const std::string& path : paths) take_unified(root + path, result);
      }
      continue;
    }
    for (const std::string& controller : split(controllers, ',')) {
      const std::string root = mounted + "/" + controller;
      for (const std::string& path : paths) take_separate(controller, root + path, result);
    }
  }
  return result;
}

std::uint64_t memory_kills(const std::string& machine) {
  return named(machine, "oom_kill");
}

std::optional<std::uint64_t> memory_line_bytes(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + ":")) continue;
    std::istringstream value(line.substr(name.size() + 1));
    std::uint64_t kibibytes = 0;
    if (value >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> memory_bytes_left(const std::string& process, const std::string& mounted,
                                               const std::string& machine) {
  auto left = memory_line_bytes(machine, "MemAvailable");
  if (const auto swap = memory_line_bytes(machine, "SwapFree"); left && swap) *left += *swap;
  lower(left, read_control_group(process, mounted).memory_bytes_left);
  return left;
}

}  // namespace musubi::os
