#include "launch/local/start_ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace musubi::launch {
namespace {

rlimit raise_limit_of_open_files() {
  rlimit original{};
  ::getrlimit(RLIMIT_NOFILE, &original);
  const rlimit raised{original.rlim_max, original.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return original;
}

void kill_and_reap(const std::vector<RankProcess>& ranks) {
  for (const RankProcess& rank : ranks) ::kill(rank.process_id, SIGKILL);
  for (const RankProcess& rank : ranks) ::waitpid(rank.process_id, nullptr, 0);
}

}  // namespace

InheritedState prepare_to_start(const UserSignals& signals) {
  return {signals.original_mask(), signals.originally_ignored(), raise_limit_of_open_files()};
}

Result<std::vector<RankProcess>> start_ranks(const LaunchPlan& plan, const InheritedState& inherited,
                                             int board, int events) {
  // Reserves a number that no other inherited file of a rank has.
  const os::FileDescriptor socket_slot(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<RankProcess> ranks;
  for (std::uint32_t index = 0; index < plan.here.count; ++index) {
    auto started = start_rank(plan, plan.here[index], {socket_slot.number(), board, events}, inherited);
    if (!started) {
      kill_and_reap(ranks);
      return started.error();
    }
    ranks.push_back(std::move(started).value());
  }
  return ranks;
}

}  // namespace musubi::launch
