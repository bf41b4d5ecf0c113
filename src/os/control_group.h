// The limits that the control groups (cgroups) of this process set: containers and batch systems set limits
// there that the machine itself does not show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace musubi::os {

struct ControlGroup {
  std::optional<std::uint64_t> memory_bytes_max;   // the smallest limit; empty: none
  std::optional<std::uint64_t> memory_bytes_left;  // in the tightest group, file caches not counted
  std::optional<double> processors;                // quota of processor time, in processors; empty: none
  std::optional<std::uint64_t> processes_max;      // including threads
};

// Groups of version 1 and 2, with the limits of the groups above. An unreadable file counts as no limit.
// Tests replace `process` and `mounted` by other folders. Reads about ten files.
ControlGroup read_control_group(const std::string& process = "/proc/self",
                                const std::string& mounted = "/sys/fs/cgroup");

// Memory that processes can still get, from the machine or from the control group, whichever has less. Empty
// if the kernel does not report it.
std::optional<std::uint64_t> memory_bytes_left(const std::string& process = "/proc/self",
                                               const std::string& mounted = "/sys/fs/cgroup",
                                               const std::string& machine = "/proc/meminfo");

// Processes that the kernel has killed so far for lack of memory in the machine or in a control group.
std::uint64_t memory_kills(const std::string& machine = "/proc/vmstat");

// A line `name   value kB` of a file like /proc/meminfo, in bytes.
std::optional<std::uint64_t> memory_line_bytes(const std::string& file, const std::string& name);

}  // namespace musubi::os
