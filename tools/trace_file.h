// Writes the file of `musubi run --trace`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "trace/event_log.h"

namespace musubi::tools {

// Whether the file can be created or overwritten; touches nothing. Errors: cause and remedy.
Result<void> check_trace_file(const std::string& path);

// Writes the events of all ranks, by rank, and prints on stderr which are missing. Moments count from
// `zero_ns`.
void write_trace_file(const std::string& path, std::span<const trace::EventLog> logs, std::uint64_t zero_ns);

}  // namespace musubi::tools
