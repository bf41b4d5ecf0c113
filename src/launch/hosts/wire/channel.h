// Messages over a pair of byte streams. Never blocks. Any arrival is a sign of life of the other side;
// silence beyond the announced time means that it, its host, or the link is gone. Each message is verified
// (channel_seal.h) before any of it is used, its length first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "launch/hosts/wire/channel_seal.h"
#include "launch/hosts/wire/message.h"
#include "launch/watcher.h"
#include "os/memory.h"

namespace musubi::launch {

class Channel {
 public:
  // The proxy's first bytes. Earlier output of a shell is no message.
  static constexpr std::string_view preamble = "\nmusubi proxy:\n";

  Channel() = default;
  // `expect_preamble`: messages follow the preamble. `patience_ns`: until the other side announces another
  // time.
  Channel(os::FileDescriptor in, os::FileDescriptor out, bool expect_preamble, std::uint64_t patience_ns,
          ChannelSeal seal = {});

  // Watches both files under one subject and index.
  void watch(Watcher& watcher, std::uint32_t subject, std::uint32_t index);
  void close();
  bool open() const { return in_.number() >= 0; }

  void send(MessageKind kind, std::int64_t number = 0, std::string_view body = {});
  // Sends the body in place, without a copy for each receiver.
  void send_shared(MessageKind kind, std::shared_ptr<const std::string> body);
  void send_preamble();
  // Writes as much as the other side takes now.
  void flush();
  bool all_sent() const { return queue_.empty(); }
  // Blocks until all is sent or the deadline has passed.
  void flush_until(std::uint64_t deadline_ns);

  enum class Got { message, nothing, closed, broken };
  Got receive(Message& message);
  // After Got::broken: the fault of the received bytes, as in "was damaged on its way".
  const char* trouble() const { return trouble_; }
  // The beginning of the bytes received instead of the preamble.
  const std::string& noise() const { return noise_; }

  // When the other side counts as silent, or its unfinished message as too slow; none while it has announced
  // unlimited silence.
  std::optional<std::uint64_t> silent_at_ns() const;
  void heard(std::uint64_t now_ns) {
    heard_ns_ = now_ns;
    if (begun_ns_) begun_ns_ = now_ns;
  }
  // `ms` as in MessageKind::alive.
  void set_patience_ms(std::int64_t ms);

 private:
  struct Piece {
    std::shared_ptr<const std::string> text;
    std::size_t sent;
  };
  struct Header {
    std::uint32_t magic;
    MessageKind kind;
    std::int64_t number;
    std::uint64_t body_bytes;
  };
  static bool is_valid(const Header& header);
  std::string begin_message(MessageKind kind, std::int64_t number, std::size_t body_bytes);
  void queue(std::shared_ptr<const std::string> text);
  // Reads some bytes. False: none are here, or the stream has ended (ended_).
  bool fill();
  bool find_preamble();
  Got parse(Message& message);
  bool open_header();
  bool open_body(Message& message);
  Got find_trouble(const char* trouble);
  std::size_t unparsed() const { return received_.size() - parsed_; }
  void update_watch();

  os::FileDescriptor in_, out_;
  bool expect_preamble_ = false;
  bool ended_ = false;
  const char* trouble_ = nullptr;
  ChannelSeal seal_;
  bool has_salt_sent_ = false, has_salt_ = false;
  bool has_spoken_ = false;       // has sent a message
  std::optional<Header> header_;  // of the message whose body comes next
  std::string noise_;
  std::string received_;
  std::size_t parsed_ = 0;
  std::deque<Piece> queue_;
  std::uint64_t heard_ns_ = 0;
  std::optional<std::uint64_t> begun_ns_;  // when the unfinished message began
  std::optional<std::uint64_t> patience_ns_;
  Watcher* watcher_ = nullptr;
  std::uint32_t subject_ = 0, index_ = 0;
  bool watching_output_ = false;
};

// When to send a sign of life, and whether a loop that checks for silence was itself stopped.
class Heartbeat {
 public:
  // A sign of life is due four times per `timeout`.
  explicit Heartbeat(std::chrono::nanoseconds timeout, std::uint64_t now_ns)
      : timeout_ns_(static_cast<std::uint64_t>(timeout.count())), due_ns_(now_ns), looked_ns_(now_ns) {}

  std::uint64_t due_ns() const { return due_ns_; }
  std::int64_t patience_ms() const { return static_cast<std::int64_t>(timeout_ns_ / 1'000'000); }
  // Whether a sign of life is due; if so, schedules the next one.
  bool take_due(std::uint64_t now_ns) {
    if (now_ns < due_ns_) return false;
    due_ns_ = now_ns + timeout_ns_ / 4;
    return true;
  }

  // Call it once in each iteration of the loop. True: this process did not run for long, because it or its
  // machine was stopped; messages sent in that time may still be on their way.
  bool was_away(std::uint64_t now_ns) {
    const bool away = now_ns - looked_ns_ > timeout_ns_ * 3 / 4;
    looked_ns_ = now_ns;
    return away;
  }

 private:
  const std::uint64_t timeout_ns_;
  std::uint64_t due_ns_, looked_ns_;
};

}  // namespace musubi::launch
