#include "omp/league.h"

#include <algorithm>

#include "omp/job.h"
#include "omp/parallel.h"
#include "omp/thread.h"

namespace musubi::omp {
namespace {

struct League {
  Function function;
  void* data;
  std::uint32_t teams;
  std::uint32_t thread_limit;
  Icv icv;  // of the task around it
};

void run_team(const League& league, std::uint32_t team, const Icv& icv) {
  InitialTaskScope scope;
  scope.task().icv = icv;
  enter_team(scope.task().icv, league.teams, team, league.thread_limit);
  league.function(league.data);
}

// The control variables of a team of one rank. A number of threads that is the job's own becomes the rank's.
Icv icv_here(const Job& job, Icv icv) {
  if (icv.threads == job.environment.initial.threads) icv.threads = job.icv_of_rank().threads;
  return icv;
}

// A region of which each member runs its share of the teams.
void run_share(void* given) {
  const League league = *static_cast<const League*>(given);
  const ImplicitTask& member = implicit_task();
  const Icv icv = member.size > 1 ? icv_here(*Job::current(), league.icv) : league.icv;
  for (std::uint64_t team = member.number; team < league.teams; team += member.size)
    run_team(league, static_cast<std::uint32_t>(team), icv);
}

}  // namespace

void enter_team(Icv& icv, std::uint32_t teams, std::uint32_t team, std::uint32_t thread_limit) {
  icv.league = teams;
  icv.league_number = team;
  if (thread_limit != 0) icv.thread_limit = std::min(thread_limit, no_thread_limit);
}

void run_league(Function function, void* data, std::uint32_t teams, std::uint32_t thread_limit) {
  const Icv& around = current_task().icv;
  if (teams == 0) teams = std::max(around.teams, 1u);
  if (thread_limit == 0) thread_limit = around.teams_thread_limit;
  League league{function, data, teams, thread_limit, around};
  const Job* const job = Job::current();
  if (job != nullptr && job->ranks > 1 && teams >= job->ranks && opens_over_ranks(*job, implicit_task())) {
    RegionRequest request;
    request.function = &run_share;
    request.data = &league;
    request.threads = job->ranks;
    request.spacing = Spacing::spread;
    parallel(request);
    return;
  }
  for (std::uint32_t team = 0; team < teams; ++team) run_team(league, team, league.icv);
}

}  // namespace musubi::omp
