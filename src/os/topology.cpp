#include "os/topology.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "os/system_call.h"

namespace musubi::os {
namespace {

// The beginning of a small file; empty: there is none. By system calls, as the program may have replaced the
// C library's functions.
std::string contents(const std::string& path) {
  const long file = system_call(SYS_openat, AT_FDCWD, as_argument(path.c_str()), O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return {};
  std::array<char, 4096> buffer;
  const long bytes = system_call(SYS_read, file, as_argument(buffer.data()), buffer.size());
  system_call(SYS_close, file);
  std::string text(buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string folder_of(std::uint32_t processor) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/";
}

std::string last_cache_of(std::uint32_t processor) {
  std::string shared, highest;
  for (int index = 0; index < 16; ++index) {
    const std::string cache = folder_of(processor) + "cache/index" + std::to_string(index) + "/";
    const std::string level = contents(cache + "level");
    if (level.empty()) break;
    if (level < highest) continue;
    highest = level;
    shared = contents(cache + "shared_cpu_list");
  }
  return shared;
}

std::string node_of(std::uint32_t processor) {
  const std::string nodes = "/sys/devices/system/node/";
  for (const std::uint32_t node : parse_processor_list(contents(nodes + "online")).value_or(Processors{})) {
    const std::string list = contents(nodes + "node" + std::to_string(node) + "/cpulist");
    const Processors members = parse_processor_list(list).value_or(Processors{});
    if (std::ranges::binary_search(members, processor)) return list;
  }
  return {};
}

// The list of all processors in the processor's group; empty: unknown.
std::string group_of(ProcessorGroup kind, std::uint32_t processor) {
  const std::string topology = folder_of(processor) + "topology/";
  switch (kind) {
    case ProcessorGroup::threads:
      return std::to_string(processor);
    case ProcessorGroup::cores:
      return contents(topology + "thread_siblings_list");
    case ProcessorGroup::ll_caches:
      return last_cache_of(processor);
    case ProcessorGroup::numa_domains:
      return node_of(processor);
    case ProcessorGroup::sockets:
      return contents(topology + "core_siblings_list");
  }
  return {};
}

}  // namespace

Processors allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  system_call(SYS_sched_getaffinity, 0, sizeof set, as_argument(&set));
  Processors processors;
  for (std::uint32_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  }
  return processors;
}

std::vector<Processors> processor_groups(ProcessorGroup kind, std::span<const std::uint32_t> processors) {
  std::vector<Processors> groups;
  Processors left(processors.begin(), processors.end());
  while (!left.empty()) {
    const std::uint32_t first = left.front();
    const Processors members = parse_processor_list(group_of(kind, first)).value_or(Processors{first});
    Processors group, others;
    for (const std::uint32_t processor : left) {
      const bool is_member = processor == first || std::ranges::binary_search(members, processor);
      (is_member ? group : others).push_back(processor);
    }
    groups.push_back(std::move(group));
    left = std::move(others);
  }
  return groups;
}

std::optional<Processors> parse_processor_list(std::string_view text) {
  Processors processors;
  while (true) {
    std::uint32_t first = 0;
    const char* const end = text.data() + text.size();
    auto parsed = std::from_chars(text.data(), end, first);
    if (parsed.ec != std::errc{}) return {};
    std::uint32_t last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc{} || last < first || last - first > CPU_SETSIZE) return {};
    for (std::uint32_t processor = first; processor <= last; ++processor) processors.push_back(processor);
    if (parsed.ptr == end) return processors;
    if (*parsed.ptr != ',') return {};
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()) + 1);
  }
}

}  // namespace musubi::os
