// Lines about strangers, and about connections for which something is missing: one per second at most, and
// rarer the longer they go on, however many there are.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "os/tcp.h"

namespace musubi::fabric::handshake {

// Where such lines go.
class Log {
 public:
  // A line without its end. Inside Transport::poll, possibly in a signal handler; must not block.
  virtual void say(std::string_view line) noexcept = 0;

 protected:
  ~Log() = default;
};

// One thread at a time; allocates nothing.
class Complaints {
 public:
  // Null: nobody wants to know.
  explicit Complaints(Log* log) noexcept : log_(log) {}

  // "refused a connection from ADDRESS: REASON"
  void refused(const os::SocketAddress& from, const char* reason) noexcept;
  // "cannot take|make a connection: ...", after the kernel has answered so.
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
