#include "launch/local/local_launcher.h"

#include "launch/job_secret.h"
#include "launch/local/event_memory.h"
#include "launch/local/start_ranks.h"
#include "launch/local/supervisor.h"
#include "launch/local/wait_boards.h"
#include "launch/user_signals.h"
#include "os/clock.h"

namespace musubi::launch {

Result<int> LocalLauncher::run(LaunchPlan plan) {
  auto secret = make_secret();
  if (!secret) return secret.error();
  plan.here = {0, plan.ranks};
  plan.welcome = {secret.value(), std::vector<std::uint16_t>(plan.ranks, 0), {}};
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  auto boards = WaitBoards::make(plan.ranks);
  if (!boards) return boards.error();
  EventMemory events;
  if (plan.events_per_thread != 0) {
    auto made = EventMemory::make(plan.ranks, plan.events_per_thread);
    if (!made) return made.error();
    events = std::move(made).value();
  }
  const std::uint64_t begin_ns = os::monotonic_ns();
  auto ranks = start_ranks(plan, inherited, boards.value().file(), events.file());
  if (!ranks) return ranks.error();
  const int status = Supervisor(plan, signals, std::move(ranks).value(), boards.value()).run();
  if (plan.events_per_thread != 0) plan.write_trace(events.logs(), begin_ns);
  return status;
}

}  // namespace musubi::launch
