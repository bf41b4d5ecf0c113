// The file of `musubi run --trace`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "trace/event_log.h"

namespace musubi::tools {

// Whether the file can be made, or written over; touches nothing. Errors: cause and remedy.
Result<void> check_trace_file(const std::string& path);

// Writes the events of all ranks, by rank, and says on stderr what is missing. Moments count from `zero_ns`.
void write_trace_file(const std::string& path, std::span<const trace::EventLog> logs, std::uint64_t zero_ns);

}  // namespace musubi::tools
