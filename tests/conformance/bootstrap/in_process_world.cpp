#include "bootstrap_world.h"
#include "in_process_job.h"
#include "rank_acts.h"

namespace musubi::bootstrap {
namespace {

Outcome run_on(const Hosts& hosts, const std::vector<std::string>& words) {
  const InProcessOutcome outcome = run_in_process(hosts, [words](Bootstrap& job) {
    act({job, words, [] { throw RankDies{}; }, [](std::string_view) {}});
  });
  return {outcome.status, outcome.message.empty() ? "" : outcome.message + "\n", "", true};
}

Outcome run_on_one(int ranks, const std::vector<std::string>& words) {
  return run_on(Hosts::one(static_cast<std::uint32_t>(ranks)), words);
}

// Ranks 0 and 2 on one host, the remaining ranks on another.
Outcome run_on_two(int ranks, const std::vector<std::string>& words) {
  std::vector<std::string> places;
  for (int rank = 0; rank < ranks; ++rank) places.emplace_back(rank % 2 == 0 ? "even" : "odd");
  return run_on(Hosts::by_place(places), words);
}

}  // namespace

std::vector<BootstrapWorld> in_process_worlds() {
  return {{"in_process", "0000", false, "", run_on_one},
          {"in_process_on_two_hosts", "0101", false, "", run_on_two}};
}

}  // namespace musubi::bootstrap
