// Rate-limited messages about strangers, and about connections that lack a resource: at most one per second,
// and fewer the longer they go on.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "os/tcp.h"

namespace musubi::fabric::handshake {

// The receiver of such messages.
class Log {
 public:
  // Takes a line without its newline. Inside Transport::poll, possibly in a signal handler; must not block.
  virtual void say(std::string_view line) noexcept = 0;

 protected:
  ~Log() = default;
};

// One thread at a time; allocates nothing.
class Complaints {
 public:
  // Null: messages are dropped.
  explicit Complaints(Log* log) noexcept : log_(log) {}

  // "refused a connection from ADDRESS: REASON"
  void refused(const os::SocketAddress& from, const char* reason) noexcept;
  // "cannot take|make a connection: ...", after the kernel reported `error`.
  void no_socket(const char* what, int error) noexcept;
  // "refused a message by NETWORK: REASON"
  void refused_message(std::string_view network, const char* reason) noexcept;

 private:
  class Line;
  bool may_speak() noexcept;
  void say(Line& line) noexcept;

  Log* const log_;
  std::uint64_t quiet_until_ns_ = 0, quiet_ns_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace musubi::fabric::handshake
