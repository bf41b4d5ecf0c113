// Real processes, started by the real command.
#include "bootstrap_world.h"
#include "host_wrappers.h"
#include "launched_job.h"

namespace musubi::bootstrap {
namespace {

Outcome outcome_of(const std::vector<std::string>& arguments) {
  test::LaunchedJob job(arguments);
  Outcome outcome;
  outcome.status = job.wait();
  outcome.all_ended = job.vanished();
  outcome.message = job.error();
  outcome.output = job.output();
  return outcome;
}

Outcome run(int ranks, const std::vector<std::string>& act) {
  return outcome_of(test::run_ranks(ranks, act));
}

// By proxies on two hosts, which are shells on this machine.
Outcome run_on_two_hosts(int ranks, const std::vector<std::string>& act) {
  std::string hosts = "h1:" + std::to_string((ranks + 1) / 2);
  if (ranks > 1) hosts += ",h2:" + std::to_string(ranks / 2);
  return outcome_of(test::run_on_hosts(hosts, act));
}

}  // namespace

std::vector<BootstrapWorld> local_worlds() {
  return {{"local", "0000", true, "", run}, {"hosts", "0011", true, "", run_on_two_hosts}};
}

}  // namespace musubi::bootstrap
