// Reports of the waits of each thread of a job, and of the place of a crash.
#pragma once

#include <string>
#include <vector>

#include "launch/launch_plan.h"
#include "launch/local/thread_states.h"

namespace musubi::launch {

// `heading`, then a line for each rank, each followed by a line for each of its threads; no newline at the
// end. `find_places` may be empty.
std::string wait_report(const std::string& heading, const std::vector<RankState>& ranks,
                        const FindPlaces& find_places);

// The same lines for the ranks `shown`, which run on `host`, each after a newline; `ranks` are all ranks of
// the job.
std::string wait_lines(const std::vector<RankState>& ranks, RankRange shown, const std::string& host,
                       const FindPlaces& find_places);

// A line for each frame of a rank that dies, each after a newline: the innermost first, then return
// addresses.
std::string backtrace_lines(const std::vector<std::uintptr_t>& frames, pid_t process,
                            const FindPlaces& find_places);

}  // namespace musubi::launch
