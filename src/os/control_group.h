// What the control groups (cgroups) of this process allow it: containers and batch systems set limits there
// that the machine itself does not show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace musubi::os {

struct ControlGroup {
  std::optional<std::uint64_t> memory_bytes_max;   // the least limit; empty: none
  std::optional<std::uint64_t> memory_bytes_left;  // where least is left, caches of files not counted
  std::optional<double> processors;                // quota of processor time, in processors; empty: none
  std::optional<std::uint64_t> processes_max;      // and threads
};

// Groups of version 1 and 2, with the limits of the groups above. What cannot be read counts as no limit.
// `process` and `mounted` stand for other folders in tests. Some ten files are read.
ControlGroup read_control_group(const std::string& process = "/proc/self",
                                const std::string& mounted = "/sys/fs/cgroup");

// Memory that processes can still get: of the machine, or of the control group where that has less. Empty
// when the kernel does not say.
std::optional<std::uint64_t> memory_bytes_left(const std::string& process = "/proc/self",
                                               const std::string& mounted = "/sys/fs/cgroup",
                                               const std::string& machine = "/proc/meminfo");

// Processes that the kernel has killed so far because memory ran out, of the machine or of a control group.
std::uint64_t memory_kills(const std::string& machine = "/proc/vmstat");

// A line `name   value kB` of a file like /proc/meminfo, in bytes.
std::optional<std::uint64_t> memory_line_bytes(const std::string& file, const std::string& name);

}  // namespace musubi::os
