// Ranks that other launchers start, by `musubi exec`.
#include "bootstrap_world.h"
#include "launched_job.h"
#include "other_launchers.h"

namespace musubi::bootstrap {
namespace {

Outcome outcome_of(const test::OtherLauncher& launcher, int ranks, const std::vector<std::string>& act) {
  test::LaunchedJob job(test::exec_by(launcher, ranks, act));
  Outcome outcome;
  outcome.status = job.wait();
  outcome.all_ended = job.vanished();
  outcome.message = test::own_lines(job.error());
  outcome.output = job.output();
  return outcome;
}

template <test::OtherLauncher (*launcher)()>
Outcome run(int ranks, const std::vector<std::string>& act) {
  return outcome_of(launcher(), ranks, act);
}

template <test::OtherLauncher (*launcher)()>
BootstrapWorld world() {
  return {launcher().name, "0000", true, launcher().missing, run<launcher>};
}

}  // namespace

std::vector<BootstrapWorld> exec_worlds() {
  return {world<test::pmi_launcher>(), world<test::mpich>(), world<test::open_mpi>()};
}

}  // namespace musubi::bootstrap
