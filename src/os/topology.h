// The processors of this machine in groups that share a part of it, as the kernel's files have them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace musubi::os {

using Processors = std::vector<std::uint32_t>;  // ascending

// A group for each: hardware thread, core, cache of the last level, node of memory, package.
enum class ProcessorGroup : std::uint8_t { threads, cores, ll_caches, numa_domains, sockets };

// The processors that the calling thread may use.
Processors allowed_processors();

// These processors (ascending) in groups, ordered by the first one of each. A machine that does not describe
// itself has one group for each processor.
std::vector<Processors> processor_groups(ProcessorGroup kind, std::span<const std::uint32_t> processors);

// A list as the kernel writes it: "0-3,8". Nothing: it is not one.
std::optional<Processors> parse_processor_list(std::string_view text);

}  // namespace musubi::os
