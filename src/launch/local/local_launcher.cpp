#include "launch/local/local_launcher.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/local/event_memory.h"
#include "launch/local/rank_process.h"
#include "launch/local/supervisor.h"
#include "launch/local/wait_boards.h"
#include "launch/user_signals.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

// Or a pipe of a rank would get the number of stdout.
void open_missing_standard_files() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor >= 0) ::close(descriptor);
}

// Four files per rank.
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

Result<int> LocalLauncher::run(const LaunchPlan& plan) {
  open_missing_standard_files();
  UserSignals signals;
  const InheritedState inherited{signals.original_mask(), signals.original_pipe_action(),
                                 raise_limit_of_open_files()};
  // Holds a number that no rank's inherited file has.
  const os::FileDescriptor socket_slot(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto boards = WaitBoards::make(plan.ranks);
  if (!boards) return boards.error();
  EventMemory events;
  if (plan.events_per_thread != 0) {
    auto made = EventMemory::make(plan.ranks, plan.events_per_thread);
    if (!made) return made.error();
    events = std::move(made).value();
  }
  const std::uint64_t begin_ns = os::monotonic_ns();
  std::vector<RankProcess> ranks;
  for (std::uint32_t rank = 0; rank < plan.ranks; ++rank) {
    auto started =
        start_rank(plan, Rank(rank), {socket_slot.number(), boards.value().file(), events.file()}, inherited);
    if (!started) {
      kill_and_reap(ranks);
      return started.error();
    }
    ranks.push_back(std::move(started).value());
  }
  const int status = Supervisor(plan, signals, std::move(ranks), boards.value()).run();
  if (plan.events_per_thread != 0) plan.write_trace(events.logs(), begin_ns);
  return status;
}

}  // namespace musubi::launch
