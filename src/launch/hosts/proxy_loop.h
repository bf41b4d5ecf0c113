// A proxy while its ranks run: reports their events to the launcher, and carries out the launcher's orders.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/channel.h"
#include "launch/hosts/channel_sink.h"
#include "launch/hosts/input_pipe.h"
#include "launch/hosts/orders.h"
#include "launch/hosts/silence.h"
#include "launch/local/event_memory.h"
#include "launch/local/rank_guard.h"
#include "launch/local/wait_boards.h"
#include "launch/user_signals.h"
#include "launch/watcher.h"

namespace musubi::launch {

class ProxyLoop final : private RankGuard::Listener {
 public:
  enum class Subject : std::uint32_t {
    channel = static_cast<std::uint32_t>(RankGuard::Subject::first_of_others),
    signals,
    input
  };

  // Channel and signals are already watched.
  ProxyLoop(const LaunchPlan& plan, const JobOrder& order, Channel& channel, Watcher& watcher,
            UserSignals& signals, std::vector<RankProcess> ranks, const WaitBoards& boards,
            const EventMemory& events, InputPipe input);

  // Blocks until no rank is left here. Result: 0, or 125 if the ranks were killed because the launcher was
  // lost.
  int run();

 private:
  void joined(Rank rank) override;
  void finished(Rank rank, int status) override;
  void gathered(std::shared_ptr<const std::string> blobs) override;
  void crashed(std::string lines) override;
  void ended(const Endings& endings) override;

  void handle(const Watcher::Event& event);
  void read_channel();
  void obey(const Message& message);
  void obey_output(const Message& message);
  void report(const Message& message);
  void obey_signal(int number);
  void give_sign_of_life(std::uint64_t now_ns);
  void look();
  void feed_input();
  void send_events();
  int kill_ranks();

  const LaunchPlan& plan_;
  const JobOrder& order_;
  Channel& channel_;
  Watcher& watcher_;
  UserSignals& signals_;
  const WaitBoards& boards_;
  const EventMemory& events_;
  InputPipe input_;
  bool input_told_closed_ = false;
  ChannelSink output_, error_;
  RankGuard guard_;
  Heartbeat heartbeat_;
  std::optional<std::uint64_t> stop_at_ns_;
  std::string lost_;  // why the launcher was lost; empty: it was not
};

}  // namespace musubi::launch
