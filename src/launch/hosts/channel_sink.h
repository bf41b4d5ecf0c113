// The lines of a proxy's ranks, on their way to the launcher, limited by its window.
#pragma once

#include <cstdint>
#include <string>

#include "launch/hosts/channel.h"
#include "launch/line_sink.h"

namespace musubi::launch {

// How much of one stream a proxy may send before the launcher acknowledges it.
inline constexpr std::int64_t output_window_bytes = 256 * 1024;

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

}  // namespace musubi::launch
