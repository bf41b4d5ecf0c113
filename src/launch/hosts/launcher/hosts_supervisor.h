// The launcher's loop for a job on several hosts: starts a proxy on each, compares their facts, starts the
// ranks, and leads them to the end by the rules of a job on one host. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/launcher/host_link.h"
#include "launch/hosts/launcher/hosts_plan.h"
#include "launch/hosts/launcher/input_feed.h"
#include "launch/hosts/launcher/survey.h"
#include "launch/hosts/wire/channel.h"
#include "launch/job_control.h"
#include "launch/output_sink.h"
#include "launch/user_signals.h"
#include "launch/watcher.h"

namespace musubi::launch {

class HostsSupervisor final : private JobControl::Commands {
 public:
  // The proxies are being started. `events` receives the events; null: no trace.
  HostsSupervisor(const HostsPlan& plan, UserSignals& signals, std::vector<HostLink>& hosts,
                  EventCollector* events = nullptr);

  // Blocks until nothing of the job is left, as far as the hosts answer, and its output is written. Result:
  // the job's exit status.
  int run();

 private:
  enum class Subject : std::uint32_t { channel, process, errors, signals, progress, input };

  void signal_all(int number) override;
  void signal_rank_zero(int number) override;
  void say(std::string line) override { outputs_.error().write(std::move(line) + "\n"); }
  void expect_no_prompt() override;

  void watch(int file, Subject subject, std::size_t index);
  std::optional<std::uint64_t> deadline_ns() const;
  void handle(const Watcher::Event& event);
  void handle_signal(UserSignal signal);
  void stop_self();
  bool is_over() const;
  void turn(std::uint64_t now_ns);

  void read_channel(std::size_t index);
  void take(std::size_t index, Message& message);
  void take_at_start(std::size_t index, const Message& message);
  void take_of_ranks(std::size_t index, Message& message);
  void take_joined(Rank rank);
  void take_output(HostLink& host, Message& message);
  void gather(HostLink& host, std::string& body);
  void ask_for_clock(HostLink& host);
  void take_clock(HostLink& host, std::uint64_t other_ns);
  void grant_output();
  void write_begun_lines();

  void send_order(HostLink& host, const Message& message);
  void take_copy_of_signal(int number);
  void start_when_ready();
  void hold_back(HostLink& host, const Endings& endings);
  void weigh_held_back();
  void look_for_silence(std::uint64_t now_ns);
  void look_at_closed(std::uint64_t now_ns);
  void lose(HostLink& host, const std::string& why);
  void lose_for_trouble(HostLink& host);

  const HostsPlan& plan_;
  UserSignals& signals_;
  std::vector<HostLink>& hosts_;
  EventCollector* const events_;
  Watcher watcher_;
  os::FileDescriptor progress_event_;
  StandardOutputs outputs_;
  JobControl control_;
  ThreadStateSurvey survey_;
  InputFeed input_;
  Heartbeat heartbeat_;
  bool refused_ = false;  // hosts cannot be used, as was reported, or were only to be examined
  bool started_ = false;  // the ranks were told to start
  Endings held_back_;
  std::optional<std::uint64_t> weigh_at_ns_, give_up_at_ns_;
  std::uint64_t signalled_ns_ = 0;  // time of the last signal to end
  bool output_told_closed_ = false, error_told_closed_ = false;
};

}  // namespace musubi::launch
