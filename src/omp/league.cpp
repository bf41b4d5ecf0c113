#include "omp/league.h"

#include <algorithm>
#include <climits>

#include "omp/parallel.h"
#include "omp/thread.h"

namespace musubi::omp {

void enter_team(Icv& icv, std::uint32_t teams, std::uint32_t team, std::uint32_t thread_limit) {
  icv.league = teams;
  icv.league_number = team;
  if (thread_limit != 0) icv.thread_limit = std::min<std::uint32_t>(thread_limit, INT_MAX);
}

void run_league(Function function, void* data, std::uint32_t teams, std::uint32_t thread_limit) {
  const Icv& around = current_task().icv;
  if (teams == 0) teams = std::max(around.teams, 1u);
  if (thread_limit == 0) thread_limit = around.teams_thread_limit;
  for (std::uint32_t team = 0; team < teams; ++team) {
    InitialTaskScope scope;
    enter_team(scope.task().icv, teams, team, thread_limit);
    function(data);
  }
}

}  // namespace musubi::omp
