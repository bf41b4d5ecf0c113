// Leagues of teams on the host. If a league has at least as many teams as the job has ranks, each team
// belongs to one rank: the ranks run their teams at the same time, each rank its own in turn, and regions in
// them have threads of that rank. The teams of a smaller league run one after the other in the program's own
// thread, and their regions have all threads of the job.
#pragma once

#include <cstdint>

#include "omp/icv.h"
#include "omp/region.h"

namespace musubi::omp {

// The task's team becomes number `team` of a league. `thread_limit` 0: unchanged.
void enter_team(Icv& icv, std::uint32_t teams, std::uint32_t team, std::uint32_t thread_limit);

// #pragma omp teams: runs the function in the initial thread of every team; all teams have ended afterwards.
// `data`: on the caller's stack, or in other shared memory. 0: not given by a clause.
void run_league(Function function, void* data, std::uint32_t teams, std::uint32_t thread_limit);

}  // namespace musubi::omp
