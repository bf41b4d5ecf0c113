// Writes events as the JSON object that Perfetto and chrome://tracing read (the Trace Event Format of
// Chromium).
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>

#include "trace/event_log.h"

namespace musubi::trace {

// Writes the logs of all ranks, by rank, to `file`. Each rank is a process of the trace and each ring one of
// its threads; times are microseconds since `zero_ns`. The caller checks `file` for errors.
void write_chrome_trace(std::FILE* file, std::span<const EventLog> logs, std::uint64_t zero_ns);

}  // namespace musubi::trace
