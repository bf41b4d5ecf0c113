// The lines that say what each thread of a job waits for, and where one has died.
#pragma once

#include <string>
#include <vector>

#include "launch/launch_plan.h"
#include "launch/local/wait_snapshot.h"
#include "launch/places.h"

namespace musubi::launch {

// One line for each thread below one for each rank, behind `heading`; no newline at the end. `find_places`
// may be empty.
std::string wait_report(const std::string& heading, const std::vector<RankState>& ranks,
                        const FindPlaces& find_places);

// The same lines of the ranks `shown`, which run on `host`, each behind a newline; `ranks` are all of the
// job.
std::string wait_lines(const std::vector<RankState>& ranks, RankRange shown, const std::string& host,
                       const FindPlaces& find_places);

// A line for each frame of a rank that dies, each behind a newline: the innermost first, the others being
// return addresses.
std::string backtrace_lines(const std::vector<std::uintptr_t>& frames, pid_t process,
                            const FindPlaces& find_places);

}  // namespace musubi::launch
