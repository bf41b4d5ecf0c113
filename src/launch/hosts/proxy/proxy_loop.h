// A proxy while its ranks run: reports their events to the launcher, and carries out the launcher's orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/hosts/wire/channel.h"
#include "launch/hosts/wire/orders.h"
#include "launch/local/rank_boards.h"
#include "launch/local/rank_supervisor.h"
#include "launch/output_sink.h"
#include "launch/user_signals.h"
#include "launch/watcher.h"
#include "os/memory.h"

namespace musubi::launch {

// How much of one stream a proxy may send before the launcher acknowledges it.
inline constexpr std::int64_t output_window_bytes = 256 * 1024;

// The lines of a proxy's ranks, on their way to the launcher, limited by its window.
class ChannelSink final : public LineSink {
 public:
  ChannelSink(Channel& channel, MessageKind lines, MessageKind begun)
      : channel_(channel), lines_(lines), begun_(begun) {}

  void write(std::string text) override { send(lines_, text); }
  void write_begun(std::string text) override { send(begun_, text); }
  bool full() const override { return room_bytes_ <= 0; }
  bool idle() const override { return channel_.all_sent(); }
  bool broken() const override { return closed_; }

  void taken(std::int64_t bytes) { room_bytes_ += bytes; }
  void close() { closed_ = true; }  // the launcher's output has no reader

 private:
  void send(MessageKind kind, const std::string& text) {
    if (text.empty() || closed_) return;
    room_bytes_ -= static_cast<std::int64_t>(text.size());
    channel_.send(kind, 0, text);
  }

  Channel& channel_;
  const MessageKind lines_, begun_;
  std::int64_t room_bytes_ = output_window_bytes;
  bool closed_ = false;
};

// Standard input of rank 0 at its proxy: writes the launcher's input into a pipe, as fast as the rank reads.
class InputPipe {
 public:
  // `write_end` is made non-blocking.
  explicit InputPipe(os::FileDescriptor write_end);

  int descriptor() const { return pipe_.number(); }
  bool open() const { return pipe_.number() >= 0; }
  void add(std::string_view bytes);
  void end() { ended_ = true; }  // no more input follows
  // Writes as much as the rank takes now; closes the pipe at the end of input, and if it has no reader.
  // Result: bytes written.
  std::size_t write_more();
  bool waits() const { return open() && !bytes_.empty(); }  // for the rank to read

 private:
  os::FileDescriptor pipe_;
  std::string bytes_;
  bool ended_ = false;
};

class ProxyLoop final : private RankSupervisor::Listener {
 public:
  enum class Subject : std::uint32_t {
    channel = static_cast<std::uint32_t>(RankSupervisor::Subject::first_of_others),
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
  RankSupervisor guard_;
  Heartbeat heartbeat_;
  std::optional<std::uint64_t> stop_at_ns_;
  std::string lost_;  // why the launcher was lost; empty: it was not
};

}  // namespace musubi::launch
