// The launcher's loop: one thread that hears of everything by epoll.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/local/frame.h"
#include "launch/gather_round.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_process.h"
#include "launch/local/stall_watch.h"
#include "launch/local/wait_boards.h"
#include "launch/output_relay.h"
#include "launch/user_signals.h"
#include "launch/verdict.h"

namespace musubi::launch {

class Supervisor final : private PipeWatcher {
 public:
  Supervisor(const LaunchPlan& plan, UserSignals& signals, std::vector<RankProcess> ranks,
             const WaitBoards& boards);

  // Until all ranks have ended and their output is written. Result: the job's exit status.
  int run();

 private:
  enum class Subject : std::uint32_t { output, error, frames, process, signals, progress };
  struct Member {
    RankProcess process;
    bool alive = true;
    std::string crash_cause;  // told, but not yet passed on
  };

  void watch(int descriptor, Rank rank, Stream stream) override;
  void unwatch(int descriptor) override;
  void watch_subject(int descriptor, Subject subject, std::uint32_t rank, std::uint32_t events);

  void wait_and_handle();
  int timeout_ms(std::uint64_t now_ns) const;
  void handle(Subject subject, Rank rank, std::uint32_t events);
  void weigh_endings();
  void read_frames(Rank rank);
  void take_frame(Rank rank, bootstrap::local::Frame& frame);
  void tell_crash(Rank rank, const std::string& frames);
  void broken_protocol(Rank rank);
  void send_reply(Rank rank);
  void handle_signal(UserSignal signal);
  void signal_all(int number);
  void follow_verdict();
  std::vector<pid_t> living_processes() const;
  void say_what_threads_wait_for(const std::string& heading);

  const LaunchPlan& plan_;
  UserSignals& signals_;
  os::FileDescriptor epoll_;
  os::FileDescriptor progress_event_;
  std::vector<Member> members_;
  GatherRound gather_;
  Verdict verdict_;
  OutputRelay relay_;
  const WaitBoards& boards_;
  StallWatch stall_watch_;
  const std::uint64_t memory_kills_before_;  // of the machine, before the job
  Insistence insistence_;
  Phase acted_on_ = Phase::running;
  std::optional<std::uint64_t> kill_at_ns_;
  std::vector<std::pair<Rank, bootstrap::local::Frame>> aborts_;  // read, but not yet weighed against deaths
  bool deaths_pending_ = false;
  bool abandoned_ = false;  // the user insists: not even the output is waited for
};

}  // namespace musubi::launch
