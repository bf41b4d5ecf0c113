#include "launch/local/local_launcher.h"

#include <sys/eventfd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_boards.h"
#include "launch/local/rank_process.h"
#include "launch/local/rank_supervisor.h"
#include "launch/local/thread_states.h"
#include "launch/local/wait_report.h"
#include "launch/output_sink.h"
#include "launch/user_signals.h"
#include "launch/watcher.h"
#include "os/clock.h"

namespace musubi::launch {

// The launcher's loop for a job on one host: one thread that receives all events by epoll.
class Supervisor final : private RankSupervisor::Listener, private JobControl::Commands {
 public:
  Supervisor(const LaunchPlan& plan, UserSignals& signals, std::vector<RankProcess> ranks,
             const WaitBoards& boards);

  // Blocks until all ranks have ended and their output is written. Result: the job's exit status.
  int run();

 private:
  enum class Subject : std::uint32_t {
    signals = static_cast<std::uint32_t>(RankSupervisor::Subject::first_of_others),
    progress
  };

  void joined(Rank rank) override;
  void finished(Rank rank, int status) override { control_.outcome().finished(rank, status); }
  void gathered(std::shared_ptr<const std::string> blobs) override { guard_.reply(blobs); }
  void crashed(std::string lines) override { say(std::move(lines)); }
  void ended(const Endings& endings) override { control_.weigh(endings); }

  void signal_all(int number) override { guard_.signal_all(number); }
  void signal_rank_zero(int number) override { guard_.signal(Rank(0), number); }
  void say(std::string line) override { outputs_.error().write(std::move(line) + "\n"); }
  void expect_no_prompt() override { guard_.relay().expect_no_prompt(); }

  void wait_and_handle();
  void handle(const Watcher::Event& event);
  void handle_signal(UserSignal signal);
  void say_what_threads_wait_for(const std::string& heading);

  const LaunchPlan& plan_;
  UserSignals& signals_;
  Watcher watcher_;
  os::FileDescriptor progress_event_;
  StandardOutputs outputs_;
  RankSupervisor guard_;
  JobControl control_;
  const WaitBoards& boards_;
  StallWatch stall_watch_;
};

Supervisor::Supervisor(const LaunchPlan& plan, UserSignals& signals, std::vector<RankProcess> ranks,
                       const WaitBoards& boards)
    : plan_(plan),
      signals_(signals),
      progress_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      outputs_(progress_event_.number()),
      guard_(plan, watcher_, std::move(ranks), outputs_.output(), outputs_.error(), *this),
      control_(JobOutcome(plan.ranks, plan.plain), plan.abort_timeout, *this),
      boards_(boards),
      stall_watch_(plan.plain ? std::chrono::nanoseconds{0} : plan.stall_report) {
  watcher_.watch(signals_.descriptor(), static_cast<std::uint32_t>(Subject::signals), 0, EPOLLIN);
  watcher_.watch(progress_event_.number(), static_cast<std::uint32_t>(Subject::progress), 0, EPOLLIN);
}

int Supervisor::run() {
  while (control_.phase() != Phase::over || !guard_.relay().closed() || !outputs_.idle() ||
         !control_.knows_of(outputs_.failure())) {
    wait_and_handle();
    // A thread of the output may be blocked in a write forever; the process must end nevertheless.
    if (control_.phase() == Phase::over && control_.abandoned()) std::_Exit(control_.exit_status());
  }
  return control_.exit_status();
}

void Supervisor::joined(Rank rank) {
  control_.outcome().joined(rank);
  if (rank == Rank{0}) guard_.welcome_others();
}

void Supervisor::wait_and_handle() {
  std::optional<std::uint64_t> deadline = earlier(guard_.relay().quiet_deadline_ns(), control_.deadline_ns());
  if (control_.phase() == Phase::running) deadline = earlier(deadline, stall_watch_.due_ns());
  for (const Watcher::Event& event : watcher_.wait(deadline)) handle(event);
  guard_.settle();
  control_.follow(os::monotonic_ns());
  const std::uint64_t now_ns = os::monotonic_ns();
  if (control_.phase() == Phase::running && stall_watch_.due(now_ns) &&
      stall_watch_.look(now_ns, take_snapshot(boards_, guard_.living_processes()))) {
    say_what_threads_wait_for(stall_watch_.heading());
  }
  guard_.relay().flush_quiet(os::monotonic_ns());
}

void Supervisor::handle(const Watcher::Event& event) {
  if (guard_.handle(event)) return;
  switch (static_cast<Subject>(event.subject)) {
    case Subject::signals:
      while (const auto signal = signals_.next()) handle_signal(*signal);
      return;
    case Subject::progress: {
      eventfd_t ignored = 0;
      ::eventfd_read(progress_event_.number(), &ignored);
      guard_.relay().progressed(os::monotonic_ns());
      if (outputs_.broken()) control_.outcome().output_closed();
      if (const int error = outputs_.failure(); error != 0) control_.outcome().output_lost(error);
      return;
    }
  }
}

void Supervisor::say_what_threads_wait_for(const std::string& heading) {
  say(wait_report(heading, take_snapshot(boards_, guard_.living_processes()), plan_.find_places));
}

void Supervisor::handle_signal(UserSignal signal) {
  if (signal.number == SIGQUIT && !plan_.plain) {
    return say_what_threads_wait_for("musubi: the threads of the job:");
  }
  control_.pass_on(signal, os::monotonic_ns());
  if (signal.asks_to_stop()) UserSignals::stop_self();
}

Result<int> LocalLauncher::run(LaunchPlan plan) {
  MUSUBI_ASSIGN_OR_RETURN(auto secret, make_secret());
  plan.here = {0, plan.ranks};
  plan.welcome = {secret, std::vector<std::uint16_t>(plan.ranks, 0), {}};
  UserSignals signals;
  const InheritedState inherited = prepare_to_start(signals);
  MUSUBI_ASSIGN_OR_RETURN(auto boards, WaitBoards::make(plan.ranks));
  MUSUBI_ASSIGN_OR_RETURN(auto events, EventMemory::make(plan.ranks, plan.events_per_thread));
  const std::uint64_t begin_ns = os::monotonic_ns();
  MUSUBI_ASSIGN_OR_RETURN(auto ranks, start_ranks(plan, inherited, boards.file(), events.file()));
  const int status = Supervisor(plan, signals, std::move(ranks), boards).run();
  if (plan.events_per_thread != 0) plan.write_trace(events.logs(), begin_ns);
  return status;
}

}  // namespace musubi::launch
