// The launcher's loop for a job on one host: one thread that receives all events by epoll.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_guard.h"
#include "launch/local/rank_process.h"
#include "launch/local/stall_watch.h"
#include "launch/local/wait_boards.h"
#include "launch/output_sink.h"
#include "launch/user_signals.h"
#include "launch/watcher.h"

namespace musubi::launch {

class Supervisor final : private RankGuard::Listener, private JobControl::Commands {
 public:
  Supervisor(const LaunchPlan& plan, UserSignals& signals, std::vector<RankProcess> ranks,
             const WaitBoards& boards);

  // Blocks until all ranks have ended and their output is written. Result: the job's exit status.
  int run();

 private:
  enum class Subject : std::uint32_t {
    signals = static_cast<std::uint32_t>(RankGuard::Subject::first_of_others),
    progress
  };

  void joined(Rank rank) override;
  void finished(Rank rank, int status) override { control_.verdict().finished(rank, status); }
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
  RankGuard guard_;
  JobControl control_;
  const WaitBoards& boards_;
  StallWatch stall_watch_;
};

}  // namespace musubi::launch
