// Real processes, started by the real command.
#include "bootstrap_world.h"
#include "launched_job.h"

namespace musubi::bootstrap {
namespace {

Outcome run(int ranks, const std::vector<std::string>& act) {
  test::LaunchedJob job(test::run_ranks(ranks, act));
  Outcome outcome;
  outcome.status = job.wait();
  outcome.all_ended = job.vanished();
  outcome.message = job.error();
  outcome.output = job.output();
  return outcome;
}

}  // namespace

std::vector<BootstrapWorld> local_worlds() {
  return {{"local", "0000", true, run}};
}

}  // namespace musubi::bootstrap
